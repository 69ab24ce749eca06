"""What a newer claim does to an earlier one, by rules alone: whole updates, and pairs that only look like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.governance.likelihood import WEIGHTS, Nearness, features, likelihood, may_replace
from memory.governance.supersession import LEAST_CONFIDENCE, settle
from memory.governance.updates import resolved, update
from memory.text.claims import Claim
from memory.text.utterances import live_text, statements

PAIRS = Path(__file__).parents[2] / "bench" / "settling" / "pairs.tsv"

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


def lookalikes() -> list[tuple[str, str]]:
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [(older, newer) for label, older, newer in rows if label == "N"]


def test_what_only_looks_like_an_update_touches_nothing() -> None:
    touched = [
        (older, newer)
        for older, newer in lookalikes()
        if (found := settle("new", statements(newer), {"old": statements(older)})).retired or found.linked
    ]
    assert touched == []
    assert len(lookalikes()) > 300


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
    [(_, (one, *_))] = resolved(statements(text))
    return one


class TestLikelihood:
    new, old = "I've gone over to rowing completely.", "I swim every morning."

    def test_it_grows_with_nearness(self) -> None:
        far, near = (likelihood(claim(self.new), claim(self.old), Nearness(one, one)) for one in (0.1, 0.7))
        assert 0 < far < near < 1

    def test_every_feature_has_its_weight(self) -> None:
        assert set(features(claim(self.new), claim(self.old), Nearness(0.5, 0.5))) == set(WEIGHTS)

    @pytest.mark.parametrize("newer", ["Do you row now?", "Ida rows now.", "I also row now.", "I might row now."])
    def test_what_cannot_be_one_is_never_weighed(self, newer: str) -> None:
        assert not may_replace(claim(newer), claim(self.old))

    def test_it_retires_what_says_one_thing_and_links_what_says_two(self) -> None:
        def near(*_: str) -> Nearness:
            return Nearness(0.95, 0.95)

        alone = settle("new", statements(self.new), {"old": statements(self.old)}, nearness=near)
        assert update(claim(self.new), claim(self.old)) is None
        assert [one.decision.confidence >= LEAST_CONFIDENCE for one in alone.retired] == [True]
        two = {"old": statements("I swim every morning and bake on Sundays.")}
        assert settle("new", statements(self.new), two, nearness=near).retired == []
