from __future__ import annotations

import pytest

from memory.governance.comparison import LEAST_CONFIDENCE, Settled
from memory.governance.replacements import LEAST_LIKELY, may_stand
from memory.governance.supersession import list_search_terms, settle
from memory.text.changes import object_terms
from memory.text.utterances import live_text, statements
from tests.governance.meanings import AllAsNear


def settled(new: str, **earlier: str) -> Settled[str]:
    return settle("new", statements(new), {key: statements(text) for key, text in earlier.items()})


def gone(found: Settled[str], key: str, text: str) -> str:
    """What stays of `text` under `key`."""
    return live_text(text, [(one.start, one.end) for one in found.retired if one.key == key and not one.holds]).strip()


def unsearched(found: Settled[str], key: str, text: str) -> list[str]:
    """What of `text` under `key` leaves search only."""
    return [text[one.start : one.end] for one in found.retired if one.key == key and one.holds]


def test_what_is_replaced_leaves_and_the_new_stays() -> None:
    old, new = "I live in Paris. I play the oboe.", "I moved to Berlin."
    found = settled(new, old=old)

    assert gone(found, "old", old) == "I play the oboe."
    assert gone(found, "new", new) == new
    assert "Paris" not in found.retired[0].decision.reason or found.retired[0].decision.confidence > 0.5


def test_what_says_that_something_is_over_stays() -> None:
    old, new = "I really like Bill Evans. Oslo is cold.", "I don't like Bill Evans anymore. He bores me."
    found = settled(new, old=old)

    assert gone(found, "old", old) == "Oslo is cold."
    assert gone(found, "new", new) == new


def test_what_says_that_something_is_over_is_found_by_its_name_alone_and_nothing_else_with_it() -> None:
    old = "I love chess problems. Oslo is cold."
    new = "I used to love chess problems, but I don't enjoy them anymore, and my sister moved to Rome."
    found = settled(new, old=old)

    assert gone(found, "new", new) == new
    assert unsearched(found, "new", new) == ["I used to love chess problems", "I don't enjoy them anymore"]
    assert {one.names for one in found.retired if one.holds} == {object_terms("love chess problems")}


def test_a_request_that_says_something_else_holds_and_the_rest_of_it_stays_in_search() -> None:
    old = "I need to mend the oboe. Oslo is cold."
    new = "I finished mending the oboe, so you can remove that from my list, and my sister moved to Rome."
    found = settled(new, old=old.replace("mend the", "plan mending the"))

    assert gone(found, "new", new) == new
    assert "my sister moved to Rome" not in " ".join(unsearched(found, "new", new))
    assert "you can remove that from my list" in unsearched(found, "new", new)


def test_what_came_before_something_that_is_over_now_is_found_by_its_name_alone() -> None:
    old = "I used to like opera, but now I love chess problems. Oslo is cold."
    found = settled("I don't like chess problems anymore.", old=old)

    assert "chess" not in gone(found, "old", old)
    assert unsearched(found, "old", old) == ["I used to like opera"]
    assert gone(found, "old", old).startswith("I used to like opera")


def test_a_denial_asks_a_person_once() -> None:
    new = "I have never rowed on the lake with Ann."
    found = settled(new, a="I rowed on the lake with Ann in May.", b="I rowed on the lake with Tom.", c="Oslo is cold.")

    assert [one.key for one in found.review] == ["a"]


def test_what_is_over_and_was_never_told_stays_in_search() -> None:
    new = "I don't like Bill Evans anymore."

    assert settled(new, old="Oslo is cold.").retired == []


def test_a_quoted_thing_of_two_clauses_is_one_request() -> None:
    thing = "Teams share results and they review plans weekly"
    old, new = f"One goal is: '{thing}'. Oslo is cold.", f"Please remove '{thing}' from the goals. Rome is warm."
    found = settled(new, old=old)

    assert gone(found, "new", new) == "Rome is warm."


def test_what_asks_to_forget_leaves_too_and_is_found_by_its_object_alone() -> None:
    old, new = "I really like Bill Evans. Oslo is cold.", "Please forget Bill Evans. The oboe is mended."
    found = settled(new, old=old)

    assert gone(found, "old", old) == "Oslo is cold."
    assert gone(found, "new", new) == "The oboe is mended."
    names = {one.key: one.names for one in found.retired}
    assert names == {"new": object_terms("Bill Evans"), "old": frozenset()}


def test_the_agents_echo_goes_with_it() -> None:
    old = "user: I love chess problems.\nassistant: Chess problems are fun!\nuser: The oboe is mended."
    found = settled("I've lost interest in chess problems.", old=old)

    assert "Chess" not in gone(found, "old", old)
    assert "oboe" in gone(found, "old", old)


def test_what_is_done_closes_the_plan_and_stays_an_event() -> None:
    old, new = "I need to paint the garden fence.", "I finished painting the garden fence."
    found = settled(new, old=old)

    assert gone(found, "old", old) == ""
    assert gone(found, "new", new) == new


def test_nothing_to_take_back_changes_nothing() -> None:
    found = settled("I no longer live in Paris.", old="Oslo is cold.")

    assert found.retired == found.linked == found.review == []


def test_a_changed_opinion_of_the_same_thing_is_linked_and_both_stay() -> None:
    found = settled("I used to dislike Bill Evans, but I've come to love his records.", old="I dislike Bill Evans.")

    assert found.retired == []
    assert [one.key for one in found.linked] == ["old"]


def test_what_fits_too_many_memories_names_a_topic() -> None:
    earlier = {f"m{number}": f"I like Bill Evans on day {number}." for number in range(5)}

    assert [one for one in settled("I don't like Bill Evans anymore.", **earlier).retired if not one.holds] == []
    assert len(settled("I don't like Bill Evans anymore.", **earlier).linked) == 5


def test_one_common_word_is_enough_only_when_it_can_mean_one_memory() -> None:
    one = "The deadline is June 5."
    assert settled("The deadline has been moved to June 12.", a=one).retired
    assert not settled("The deadline has been moved to June 12.", a=one, b="My deadline is June 7.").retired


def test_another_speakers_statement_is_for_review() -> None:
    found = settle(
        "new", statements("I don't like Bill Evans anymore.", speaker="Bea"), {"old": statements("I like Bill Evans.")}
    )

    assert found.retired == []
    assert found.review[0].decision.review


def test_a_number_says_too_little_to_hide_the_older_statement() -> None:
    found = settled("I raised my goal from 1,200 to 1,500 words.", old="I write 1,200 words and play the oboe.")

    assert found.retired == []


def test_a_denial_is_for_review_and_changes_nothing() -> None:
    found = settled("I have never rowed on the lake, so can you explain it?", old="I rowed on the lake with Ann.")

    assert found.retired == []
    assert [(one.key, one.decision.review) for one in found.review] == [("old", True)]


@pytest.mark.parametrize(
    ("new", "corrects"),
    [
        ("No, the gym opens at nine.", True),
        ("No: the gym opens at nine.", True),
        ("No gym opens at nine.", False),
        ("No, the gym never opens at nine.", False),
        ("No, the gym doesn't open at nine.", False),
        ("No, the gym does not open at nine.", False),
        ("The gym does not open at nine.", False),
        ("The gym doesn't open at nine.", False),
        ("The gym does not open until nine.", True),
        ("The gym opens at nine, not at eight.", True),
        ("No, does the gym open at nine?", False),
        ("No, the gym in Leeds opens at nine.", False),
    ],
)
def test_what_a_no_and_a_not_deny(new, corrects) -> None:
    assert bool(settled(new, old="The gym opens at eight.").retired) is corrects


def test_chinese() -> None:
    old = "我住在巴黎。我会弹钢琴。"
    assert gone(settled("我搬到柏林了。", old=old), "old", old) == "我会弹钢琴。"


def test_wanted_terms_find_the_candidates() -> None:
    assert object_terms("live in Paris") in list_search_terms(statements("I no longer live in Paris. Hello."))
    assert list_search_terms(statements("Hello.")) == []


def test_live_text_takes_spans_in_any_order_and_overlapping() -> None:
    assert live_text("abcdef", [(4, 5), (1, 3), (2, 3)]) == "adf"


class TestUnsure:
    """What the rules leave to another judge."""

    OLD, NEW = "The parking permit costs 40 euros.", "The Ashford parking permit costs 55 euros now."

    def settled(self, near: float) -> Settled[str]:
        return settle(
            "new",
            statements("My training is in the hall on Mill Street now."),
            {"old": statements("I train at the pool near the station.")},
            meanings=AllAsNear(near),
        )

    @pytest.mark.parametrize(
        ("near", "unsure", "retired"), [(0.0, False, False), (0.3, True, False), (0.9, False, True)]
    )
    def test_what_is_neither_likely_nor_unlikely_is_unsure_and_nothing_is_done(self, near, unsure, retired):
        settled = self.settled(near)

        assert (bool(settled.unsure), bool(settled.retired), bool(settled.linked)) == (unsure, retired, retired)
        assert all(LEAST_LIKELY <= one.decision.confidence < LEAST_CONFIDENCE for one in settled.unsure)

    @pytest.mark.parametrize(
        ("new", "value", "stands"),
        [
            (NEW, "55 euros", True),
            ("The Ashford parking permit costs 55 euros now, and Anna pays 70 euros for hers.", "70 euros", False),
            ("My sister's parking permit costs 55 euros now.", "55 euros", False),
            ("Does the parking permit cost 55 euros now?", "55 euros", False),
            ("The parking permit is blue.", "", False),
            ("The parking permit is no longer needed.", "", True),
        ],
    )
    def test_a_value_stands_only_where_its_clause_may_be_of_the_same(self, new, value, stands):
        (said, *_), (old,) = newer, earlier = statements(new), statements(self.OLD)

        assert may_stand(said, newer, old, earlier, former_value="40 euros", value=value) is stands


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Order 17: two chairs, 40 euros.", "Order 18: two chairs, 55 euros."),
        ("Invoice A12 from Meyer is 300 euros.", "Invoice A13 from Meyer is 450 euros."),
        ("Ticket 4711: printer on floor 2.", "Ticket 4712: printer on floor 3."),
        ("Delivery kq: drums for the indigo hall, row 181.", "Delivery zt: drums for the indigo hall, row 77."),
    ],
)
def test_records_of_one_form_do_not_replace_one_another(older: str, newer: str) -> None:
    found = settled(newer, old=older)
    assert not found.retired
    assert not found.linked


def test_another_value_in_the_same_words_replaces_the_former() -> None:
    assert gone(settled("The gym opens at 7.", old="The gym opens at 8."), "old", "The gym opens at 8.") == ""
