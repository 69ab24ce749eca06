import pytest

from memory.text.salience import (
    SentenceCandidate,
    content_terms,
    duplicate_of,
    is_light,
    numbers,
    quality,
    select,
    term_weights,
)


def _candidate(words, relevance=1.0, cost=10):
    return SentenceCandidate(terms=frozenset(words.split()), relevance=relevance, cost=cost)


def test_content_terms_keep_chinese_pairs_without_function_characters():
    assert content_terms("我的数据库") == {"数据", "据库"}
    assert content_terms("The really big boats") == {"big", "boat"}


def test_a_recurring_term_outweighs_a_single_one_and_light_words_weigh_little():
    weights = term_weights([["boat", "nice"], ["boat", "harbour"], ["boat"], ["engine"], ["sail"], ["mast"]])
    assert weights["boat"] > weights["engine"] > weights["nice"]
    assert is_light("nice")
    assert not is_light("boat")


def test_numbers_names_and_the_first_person_raise_quality_and_reactions_lower_it():
    plain = quality("The boat left the harbour.")
    assert quality("The boat left the harbour at 9.") > plain
    assert quality("The boat left Bergen.") > plain
    assert quality("I left the harbour.") > plain
    assert quality("你真厉害！") < plain
    assert quality("[photo: a boat]") < plain


def test_numbers_include_weekdays_and_chinese_ones():
    assert numbers("On Friday at 9:30, not friday") == ("9:30", "friday")
    assert numbers("周三有两个会") == ("两个", "周三")


def test_selection_prefers_what_is_new_and_keeps_to_the_budget():
    candidates = [_candidate("a b c", 1.0), _candidate("a b c", 0.95), _candidate("d e f", 0.8)]
    weights = dict.fromkeys("abcdef", 1.0)
    assert select(candidates, weights, 20) == [0, 2]
    assert select(candidates, weights, 30) == [0, 2, 1]
    assert select(candidates, weights, 9) == []


def test_each_further_sentence_of_a_turn_gains_less():
    candidates = [
        SentenceCandidate(frozenset(words.split()), relevance, 10, turn)
        for words, relevance, turn in (("a b", 1.0, "one"), ("c d", 0.9, "one"), ("e f", 0.6, "two"), ("g h", 0.4, ""))
    ]
    assert select(candidates, dict.fromkeys("abcdefgh", 1.0), 40) == [0, 2, 1, 3]


def test_selection_counts_the_cost():
    candidates = [_candidate("a b", relevance=1.5, cost=40), _candidate("c d", relevance=1.0, cost=10)]
    assert select(candidates, dict.fromkeys("abcd", 1.0), 40) == [1]


def test_near_identical_documents_point_to_the_first_one():
    base = frozenset({"the", "server", "needs", "more", "disk", "space", "now"})
    documents = [base, frozenset({"else"}), base | {"soon"}, base]
    assert duplicate_of(documents, [0, 0, 0, 0]) == [0, 1, 0, 0]
    assert duplicate_of(documents, ["yes", "yes", "yes", "no"]) == [0, 1, 0, 3]


@pytest.mark.parametrize("documents", [[], [frozenset()], [frozenset(), frozenset()]])
def test_empty_documents_are_no_duplicates(documents):
    assert duplicate_of(documents, [0] * len(documents)) == list(range(len(documents)))
