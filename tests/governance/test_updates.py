"""What a newer claim does to an earlier one, by rules alone: whole updates, and pairs that only look like one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.settling.pairs import FRESH, PAIRS, lines_of
from memory.governance.comparison import LEAST_CONFIDENCE
from memory.governance.likelihood import WEIGHTS, Nearness, features, is_told, likelihood, may_replace
from memory.governance.references import resolve_references
from memory.governance.replacements import LEAST_LINKED
from memory.governance.supersession import settle
from memory.governance.updates import update
from memory.text.claims import Claim
from memory.text.utterances import live_text, statements
from tests.governance.meanings import AllAsNear

# Of what only looks like an update, and was written by people who did not know the rules, so much may be touched.
MOST_TOUCHED = 0.07

UPDATES = [
    ("My phone number is 555-0101.", "My phone number changed, it is 555-0199 now."),
    ("I drive a Lada.", "I sold the Lada and drive a Zastava now."),
    ("Ida's desk is on the second floor.", "Ida's desk was moved to the fourth floor."),
    ("The mill opens at 8.", "The mill doesn't open until 9 now."),
    ("My dentist is Dr. Oak.", "My dentist is Dr. Elm now."),
    ("Chloe is dating Igor.", "Sad, Chloe and Igor broke up."),
    ("Ida is vegan.", "Ida stopped being vegan."),
    ("We use Oakdb in the billing project.", "We switched the billing project over to Elmdb."),
    ("磨坊八点开门。", "磨坊现在改成七点开门了。"),
    ("我的电话是13800001111。", "我换号码了，新的是13900002222。"),
    ("艾达的工位在三楼。", "艾达的工位昨天搬到五楼了。"),
]


def replaced(older: str, newer: str) -> bool:
    found = settle("new", statements(newer), {"old": statements(older)})
    return not any(map(str.isalnum, live_text(older, [(one.start, one.end) for one in found.retired])))


@pytest.mark.parametrize(("older", "newer"), UPDATES)
def test_a_whole_update_is_recognised(older: str, newer: str) -> None:
    assert replaced(older, newer)


def touched(name: str) -> list[bool]:
    """Whether the rules do anything to the older of each pair that only looks like an update."""
    found = [
        settle("new", statements(line.newer), {"old": statements(line.older)})
        for line in lines_of(name)
        if not line.replaces
    ]
    return [bool(one.retired or one.linked) for one in found]


def test_what_only_looks_like_an_update_touches_nothing() -> None:
    done = touched(PAIRS[0])
    assert len(done) > 300
    assert not any(done)


@pytest.mark.parametrize("name", FRESH)
def test_little_of_what_others_wrote_to_look_like_one_is_touched(name: str) -> None:
    done = touched(name)
    assert len(done) > 300
    assert sum(done) <= MOST_TOUCHED * len(done)


@pytest.mark.parametrize(
    "newer",
    [
        "Is the fair on 9 May now?",
        "If it rains, the fair moves to 9 May.",
        "Tom says the fair was moved to 9 May.",
        "I wish the fair moved to 9 May.",
        "Another fair was moved to 9 May.",
        "The spring fair was moved to 9 May, and the fair next door too.",
    ],
)
def test_moods_and_other_things_say_nothing_of_it(newer: str) -> None:
    assert not settle("new", statements(newer), {"old": statements("The fair is on 3 May.")}).retired


def test_what_another_says_of_a_third_thing_counts_and_of_themselves_does_not() -> None:
    old = {"old": statements("The launch is on 3 May.", speaker="Ann")}
    assert settle("new", statements("The launch was moved to 9 May.", speaker="Bea"), old).retired
    mine = {"old": statements("My shift starts at 8.", speaker="Ann")}
    assert not settle("new", statements("My shift starts at 9 now.", speaker="Bea"), mine).retired


def test_two_values_that_stand_side_by_side_are_only_linked() -> None:
    earlier = {"a": statements("The review is on 3 May."), "b": statements("The review is on 4 May.")}
    found = settle("new", statements("The review was moved to 9 May."), earlier)

    assert found.retired == []
    assert {one.key for one in found.linked} == {"a", "b"}


def test_a_value_among_others_leaves_alone() -> None:
    old = "The choir meets on Tuesday at 3pm."
    found = settle("new", statements("The choir now meets at 4pm."), {"old": statements(old)})

    assert live_text(old, [(one.start, one.end) for one in found.retired]) == "The choir meets on Tuesday."


def claim(text: str) -> Claim:
    [(_, (one, *_))] = resolve_references(statements(text))
    return one


class TestLikelihood:
    new, old = "I've gone over to rowing completely.", "I swim every morning."

    def test_it_grows_with_nearness(self) -> None:
        far, near = (
            likelihood(claim(self.new), claim(self.old), self.new, Nearness(one, one), rule=0.0) for one in (0.1, 0.7)
        )
        assert 0 < far < near < 1

    def test_every_feature_has_its_weight(self) -> None:
        found = features(claim(self.new), claim(self.old), self.new, Nearness(0.5, 0.5), rule=0.0)
        assert list(found) == list(WEIGHTS)
        assert all(-1 <= value <= 1 for value in found.values())

    @pytest.mark.parametrize(
        "newer",
        ["Do you row now?", "Ida rows now.", "I also row now.", "I might row now.", "Ida says I row now.", "I row."],
    )
    def test_what_cannot_be_one_is_never_weighed(self, newer: str) -> None:
        assert not may_replace(claim(newer), claim(self.old), newer, ruled=False)

    @pytest.mark.parametrize("newer", ["The boxes are unpacked at last.", "The boat is sold.", "船终于卖了。"])
    def test_a_change_may_be_told_without_a_verb_of_change(self, newer: str) -> None:
        assert is_told(claim(newer), claim("I live on my boat."), newer)

    def test_one_deed_to_two_things_is_no_change_unless_a_rule_says_so(self) -> None:
        new, old = "I keep owls now.", "I keep hens."
        assert not may_replace(claim(new), claim(old), new, ruled=False)
        assert may_replace(claim(new), claim(old), new, ruled=True)

    def test_it_retires_what_says_one_thing_and_links_what_says_two(self) -> None:
        alone = settle("new", statements(self.new), {"old": statements(self.old)}, meanings=AllAsNear(0.95))
        assert update(claim(self.new), claim(self.old)) is None
        assert [one.decision.confidence >= LEAST_CONFIDENCE for one in alone.retired] == [True]
        two = {"old": statements("I swim every morning and bake on Sundays.")}
        assert settle("new", statements(self.new), two, meanings=AllAsNear(0.95)).retired == []

    def test_what_is_less_likely_is_linked_and_then_left_alone(self) -> None:
        old = {"old": statements(self.old)}
        sure = {
            cosine: likelihood(claim(self.new), claim(self.old), self.new, Nearness(cosine, cosine), rule=0.0)
            for cosine in (number / 100 for number in range(100))
        }
        linked = next(cosine for cosine, one in sure.items() if LEAST_LINKED <= one < LEAST_CONFIDENCE)
        found = settle("new", statements(self.new), old, meanings=AllAsNear(linked))
        assert (len(found.linked), [one.decision.confidence < LEAST_CONFIDENCE for one in found.retired]) == (1, [])
        alone = next(cosine for cosine, one in sure.items() if one < LEAST_LINKED)
        assert settle("new", statements(self.new), old, meanings=AllAsNear(alone)).linked == []

    def test_a_rule_is_overruled_where_it_is_unlikely(self) -> None:
        new, old = "The diner across the road changed its menu, same owner.", "The diner across the road is Greek."
        earlier = {"old": statements(old)}
        assert settle("new", statements(new), earlier).linked
        assert not settle("new", statements(new), earlier, meanings=AllAsNear(0.3)).linked


def test_a_change_without_a_value_replaces_nothing() -> None:
    earlier = {"old": statements("Let's work together to make a real difference.")}
    assert not settle("new", statements("Let's make some real change."), earlier).linked
