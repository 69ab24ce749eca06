"""The question set for settling is well-formed, and its scorer counts correctly."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.settling.cases import KINDS, LANGUAGES, Case, Frame, Kept, Message, Question, Replaced, contains, fill
from bench.settling.halves import FRAMED, FREE, HALVES, LEARN, REPORT, cases_of
from bench.settling.outcome import After
from bench.settling.pairs import COUNTED, FRESH, PAIRS, lines_of
from bench.settling.score import judge_case

CASES = {half: cases_of(half) for half in HALVES}
EVERY = [case for cases in CASES.values() for case in cases]


def test_there_are_enough_cases_and_frames():
    framed = [case for half in FRAMED for case in CASES[half]]
    assert len(CASES[FREE]) >= 60
    assert len(framed) >= 300
    assert len({case.frame for case in framed}) >= 120
    by_language = Counter(case.language for case in framed)
    assert min(by_language.values()) >= 0.4 * len(framed)


@pytest.mark.parametrize(("half", "kind", "language"), list(itertools.product(HALVES, KINDS, LANGUAGES)))
def test_each_half_has_every_kind_in_both_languages(half: str, kind: str, language: str):
    assert [case for case in CASES[half] if (case.kind, case.language) == (kind, language)]


def test_the_halves_are_about_equal_and_share_no_frame():
    assert not {case.frame for case in CASES[LEARN]} & {case.frame for case in CASES[REPORT]}
    assert 0.8 < len(CASES[LEARN]) / len(CASES[REPORT]) < 1.25


def test_ids_are_unique():
    assert not [name for name, count in Counter(case.id for case in EVERY).items() if count > 1]


def test_no_two_cases_begin_with_the_same_messages():
    said = Counter(tuple(message.text for message in case.messages) for case in EVERY)
    assert not [texts for texts, count in said.items() if count > 1]


@pytest.mark.parametrize("half", HALVES)
def test_places_are_those_of_messages(half: str):
    for case in CASES[half]:
        places = {*case.untouched, *(one.message for one in case.replaced)}
        assert places <= set(range(len(case.messages))), case.id
        assert not set(case.untouched) & {one.message for one in case.replaced}, case.id
        assert [one.hours for one in case.messages] == sorted(one.hours for one in case.messages), case.id


@pytest.mark.parametrize("half", HALVES)
def test_what_is_looked_for_stands_in_a_message(half: str):
    for case in CASES[half]:
        texts = [message.text for message in case.messages]
        for fact in case.kept:
            assert any(all(contains(text, wanted) for wanted in fact.contains) for text in texts), (case.id, fact)
        for question in case.questions:
            assert any(contains(text, wanted) for text in texts for wanted in question.first), (case.id, question)
            if question.not_first:
                assert any(contains(text, question.not_first) for text in texts), (case.id, question)
        for one in case.replaced:
            assert contains(texts[one.message], one.value), (case.id, one)


@pytest.mark.parametrize("half", HALVES)
def test_each_case_measures_something_and_no_gap_is_left(half: str):
    for case in CASES[half]:
        assert case.questions or case.kept or case.replaced or case.untouched, case.id
        assert not [message.text for message in case.messages if "{" in message.text or not message.text.strip()]


def test_a_filling_with_too_few_values_is_refused():
    frame = Frame("short", "compound", "a b", ["only one"], ["{a} {b}"])
    with pytest.raises(ValueError, match="short: 'only one'"):
        list(fill([frame], "en", "learn", ()))


def test_distracting_messages_stand_beside_and_places_follow():
    frame = Frame("x", "whole_update", "a b", ["1|2", "3|4", "5|6"], ["{a}.", "Now {b}."], replaced={0: "{a}"})
    *plain, distracted = fill([frame], "en", "learn", ("Nice day.", "ok"))
    assert [len(case.messages) for case in plain] == [2, 2]
    assert len(distracted.messages) == 4
    assert distracted.messages[distracted.replaced[0].message].text == "5."
    assert sorted(distracted.messages[place].text for place in distracted.untouched) == ["Nice day.", "Now 6.", "ok"]


def test_whole_words_are_looked_for_and_chinese_anywhere():
    assert contains("I am in York.", "york")
    assert not contains("It costs 170 euros.", "17")
    assert not contains("am allergic", "I")
    assert contains("我住在杭州", "杭州")


@pytest.mark.parametrize("name", PAIRS)
def test_half_of_the_pairs_replace_and_none_stands_twice(name: str):
    lines = lines_of(name)
    assert 0.45 < sum(line.replaces for line in lines) / len(lines) < 0.6
    assert not [pair for pair, count in Counter((one.older, one.newer) for one in lines).items() if count > 1]


@pytest.mark.parametrize("name", FRESH)
def test_three_tenths_of_the_fresh_pairs_are_held_out(name: str):
    lines = lines_of(name)
    assert 0.25 < sum(line.held_out for line in lines) / len(lines) < 0.35
    assert not [line for line in lines_of(PAIRS[0]) if line.held_out]


@pytest.mark.parametrize("name", COUNTED)
def test_nothing_is_learned_from_the_counted_pairs(name: str):
    lines = lines_of(name)
    assert all(line.held_out for line in lines)
    assert len({(line.older, line.newer) for line in lines}) == len(lines)


def _case(**fields) -> Case:
    messages = (Message("I live in Leeds.", "a", 0), Message("I moved from Leeds to York.", "b", 26))
    return Case("one", "en", "whole_update", "frame", messages, **fields)


AS_IT_WAS = [After("I live in Leeds.", superseded=False), After("I moved from Leeds to York.", superseded=False)]


def test_the_new_value_counts_as_first_only_at_the_top():
    case = _case(questions=(Question("Where?", ("York",), "Leeds"),))
    newer, older = (1, "I moved from Leeds to York."), (0, "I live in Leeds.")
    assert judge_case(case, AS_IT_WAS, [[newer, older]]).list_noted("first") == [True]
    assert judge_case(case, AS_IT_WAS, [[older, newer]]).list_noted("first") == [False]
    assert judge_case(case, AS_IT_WAS, [[]]).list_noted("first") == [False]


def test_a_fact_is_kept_when_one_hit_says_all_of_it():
    case = _case(kept=(Kept("Where?", ("I", "Leeds")),))
    assert judge_case(case, AS_IT_WAS, [[(1, "Hm."), (0, "I live in Leeds.")]]).list_noted("kept") == [True]
    assert judge_case(case, AS_IT_WAS, [[(1, "Hm."), (0, "live in Leeds.")]]).list_noted("kept") == [False]


def test_replaced_is_superseded_or_without_the_old_value_and_linked_counts_apart():
    case = _case(replaced=(Replaced(0, "Leeds"),))
    for after, recognised, linked in (
        (After("I live in Leeds.", superseded=True, linked="newer"), True, False),
        (After("I live.", superseded=False, retired=("in Leeds",)), True, False),
        (After("I live in Leeds.", superseded=False, linked="newer"), False, True),
        (AS_IT_WAS[0], False, False),
    ):
        outcome = judge_case(case, [after, AS_IT_WAS[1]], [])
        assert outcome.list_noted("replaced") == [recognised]
        assert outcome.list_noted("linked only") == [linked]


@pytest.mark.parametrize("change", [{"superseded": True}, {"retired": ("x",)}, {"linked": "newer"}])
def test_whatever_is_done_to_it_touches_a_message(change: dict):
    case = _case(untouched=(0,))
    assert judge_case(case, AS_IT_WAS, []).list_noted("untouched") == [True]
    touched = After("I live in Leeds.", **{"superseded": False, **change})
    outcome = judge_case(case, [touched, AS_IT_WAS[1]], [])
    assert outcome.list_noted("untouched") == [False]
    assert "touched: [0]" in outcome.describe()
