"""A person takes back, in the same conversation, a claim that was written in their name; nothing else is affected."""

from __future__ import annotations

import pytest

from memory.governance.settling import TAKEN_BACK, Earlier, list_search_terms, settle
from memory.text.utterances import Statement, statements

DISOWNED = "That was not me. I am not allergic to anything."


def retired(new: str, *old: str, speaker: str = "", told_by: str = "", elsewhere: bool = False) -> list[str]:
    """Return which of the old texts leave search when `new` is said after them."""
    told: dict[int, list[Statement]] = {
        place: statements(text, speaker=told_by) for place, text in enumerate(old, start=1)
    }
    earlier = Earlier(told, conversation=() if elsewhere else list(told))
    settled = settle(0, statements(new, speaker=speaker), earlier, measure_cosines=lambda _, texts: [0.9] * len(texts))
    assert all(one.decision.reason == TAKEN_BACK for one in settled.retired)
    return [old[one.key - 1][one.start : one.end] for one in settled.retired]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (DISOWNED, "I am allergic to peanuts."),
        ("That wasn't me! I'm not allergic to peanuts.", "I'm allergic to peanuts."),
        ("I never said that. I have no allergies.", "I have allergies."),
        ("I am not allergic to anything. Someone else wrote that.", "I am allergic to cats."),
        ("That's not true about me. I don't smoke.", "I smoke every day."),
        ("那不是我说的。我对什么都不过敏。", "我对花生过敏。"),
        ("我没说过。我没有任何过敏。", "我对花生过敏。"),
    ],
)
def test_a_claim_that_is_taken_back_leaves_search(new: str, old: str) -> None:
    assert retired(new, old, "I live in Wels.") == [old]
    assert list_search_terms(statements(new))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        # The statement disowns nothing, or denies nothing.
        ("I am not allergic to cats.", "I am allergic to peanuts."),
        ("I am not allergic to anything.", "I am allergic to peanuts."),
        ("That was not me.", "I am allergic to peanuts."),
        # The memory is about another topic, or about another thing within the topic.
        ("That was not me. I am not allergic to cats.", "I am allergic to peanuts."),
        ("That was not me. I am not in Oslo.", "I am allergic to peanuts."),
        # These deny a location, or something for a limited time.
        ("That's wrong. I'm not in Oslo this week.", "I live in Oslo."),
        ("That's wrong. I'm not in Oslo.", "I live in Oslo."),
        ("That's not right. I don't smoke today.", "I smoke every day."),
        ("那不对。我今天不喝咖啡。", "我每天早上喝咖啡。"),
        ("那不对。我不在上海。", "我住在上海。"),
        # These are alike except for a number, a day or a thing.
        ("That's wrong. I don't use Python for speed.", "I use Python for data work."),
        ("That's false. I don't speak French fluently.", "I speak French."),
        ("That's wrong. I'm not allergic to peanut butter.", "I am allergic to peanuts."),
        ("That was not me. I am not on call in March.", "I am on call in May."),
        ("I didn't say that. I have no key to room 12.", "I have the key to room 14."),
        ("那不对。我没有狗。", "我有一只狗和一只猫。"),
        ("那不对。我不在周五上班。", "我在周一上班。"),
        # The statement is a question, a supposition or a quotation.
        ("Was that not me? I am not allergic to anything.", "I am allergic to peanuts."),
        ("That was not me. Am I not allergic to anything?", "I am allergic to peanuts."),
        ("That was not me. Maybe I am not allergic to anything.", "I am allergic to peanuts."),
        ('She said "that was not me". I am not allergic to anything.', "I am allergic to peanuts."),
        ("That was not me at the party. I am not allergic to anything.", "I am allergic to peanuts."),
        # The earlier statement is about someone else, in the past, a question, a quotation, or already denied.
        (DISOWNED, "My sister is allergic to peanuts."),
        (DISOWNED, "Ben is allergic to peanuts."),
        (DISOWNED, "I used to be allergic to peanuts."),
        (DISOWNED, "Am I allergic to peanuts?"),
        (DISOWNED, "The doctor says I am allergic to peanuts."),
        (DISOWNED, "I am not allergic to peanuts."),
        # More than the claim would be removed.
        (DISOWNED, "I am allergic to peanuts and my son loves chess."),
        ("那不是我说的。我对猫不过敏。", "我妹妹对花生过敏。"),
        ("我对什么都不过敏。", "我对花生过敏。"),
    ],
)
def test_nothing_else_leaves_search(new: str, old: str) -> None:
    assert retired(new, old) == []


def test_only_its_speaker_takes_a_claim_back_and_only_in_the_conversation() -> None:
    claim = "I am allergic to peanuts."
    assert retired(DISOWNED, claim, speaker="Ann", told_by="Ann") == [claim]
    assert retired(DISOWNED, claim, speaker="Ann", told_by="Ben") == []
    assert retired(DISOWNED, claim, elsewhere=True) == []
    assert retired("Ann: That was not me.\nBen: I am not allergic to anything.", claim, told_by="/Ben") == []


def test_agents_take_nothing_back() -> None:
    told = {1: statements("I am allergic to peanuts.")}
    new = statements(DISOWNED, by_agent=True)
    settled = settle(0, new, Earlier(told, conversation=[1]), measure_cosines=lambda _, texts: None)
    assert settled.retired == []


def test_a_denial_that_fits_many_memories_does_nothing() -> None:
    assert retired(DISOWNED, *(f"I am allergic to {thing}." for thing in ("peanuts", "cats", "pollen", "milk"))) == []
