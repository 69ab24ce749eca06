from __future__ import annotations

import pytest

from memory.enums import Relation
from memory.governance.conflicts import Decision, by_denial, decide
from memory.text.utterances import Statement


def said(text: str, *, speaker: str = "Ann") -> Statement:
    return Statement(text, 0, len(text), 0, speaker)


def judged(new: str, old: str, *, by: str = "Ann", of: str = "Ann", topic: str = "") -> Decision:
    return decide(Statement(new, 0, len(new), 0, by), Statement(old, 0, len(old), 0, of), topic=topic)


UPDATES = [
    ("I moved to Berlin.", "I live in Paris."),
    ("I no longer live in Paris.", "I live in Paris."),
    ("The deadline has been moved to June 12.", "The deadline is June 5."),
    ("Please remove 'Paint the door' from my list.", "I need to paint the door."),
    ("I finished painting the old garden fence.", "I need to paint the old garden fence."),
    ("I used to love Bill Evans, but now I prefer Nina Simone.", "I really like Bill Evans."),
    ("I really dislike Bill Evans.", "I really like Bill Evans."),
    ("I changed my weekly goal from 5 km to 10 km.", "My weekly goal is 5 km."),
    ("My weekly running goal is 10 km.", "My weekly running goal is 5 km."),
    ("我搬到柏林了。", "我住在巴黎。"),
    ("截止日期从5月3日改成5月10日。", "截止日期是5月3日。"),
    ("我不再喝咖啡了。", "我每天喝咖啡。"),
]
ADDS = [
    ("I really like Nina Simone and jazz piano.", "I really like Bill Evans and jazz piano."),
    ("I drink tea in the evening.", "I drink tea in the morning."),
    ("I walked 9,000 steps in the park today.", "I walked 8,000 steps in the park today."),
    ("我喜欢红色的跑车。", "我喜欢蓝色的跑车。"),
]


@pytest.mark.parametrize(("new", "old"), UPDATES)
def test_a_newer_statement_updates(new: str, old: str) -> None:
    decision = judged(new, old)

    assert decision.relation is Relation.UPDATES, decision
    assert decision.reason.endswith(".")
    assert decision.evidence
    assert 0.5 < decision.confidence <= 1
    assert not decision.review


@pytest.mark.parametrize(("new", "old"), ADDS)
def test_what_holds_side_by_side_adds(new: str, old: str) -> None:
    assert judged(new, old).relation is Relation.ADDS


def test_the_same_again_restates() -> None:
    assert judged("I live in Paris!", "I live in Paris.").relation is Relation.RESTATES


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The mill opens at nine.", "I live in Paris."),
        ("I live in Berlin.", "My sister lives in Paris."),
        ("Do I live in Paris?", "I live in Paris."),
        ("我妹妹住在上海。", "我住在巴黎。"),
    ],
)
def test_another_subject_is_unrelated(new: str, old: str) -> None:
    assert judged(new, old).relation is Relation.UNRELATED


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I have never written any songs for the choir.", "I wrote two songs for the choir."),
        ("The mill is not open on market days.", "The mill is open on market days."),
    ],
)
def test_a_denial_is_flagged_for_review(new: str, old: str) -> None:
    decision = judged(new, old)

    assert decision.relation is Relation.CONTRADICTS
    assert decision.review


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I have never finished a draft of a novel.", "I hope to finish a draft of my novel."),
        ("I have never finished a draft of a novel.", "I need to finish a draft of my novel."),
        ("我从来没写过小说初稿。", "我打算写小说初稿。"),
    ],
)
def test_what_is_only_meant_to_be_done_is_not_denied(new: str, old: str) -> None:
    assert not judged(new, old).review


def test_of_what_is_denied_half_is_enough_for_a_review_whatever_the_form() -> None:
    denial = said("I have never finished a draft of a novel.")
    found = by_denial(denial, said("I'm working on a draft of my second novel with Ann."))

    assert found is not None
    assert (found.relation, found.review, found.evidence) == (Relation.CONTRADICTS, True, ("draft", "novel"))
    for text in ("I hope to finish a draft of my novel.", "Did I finish a draft of a novel?", "The novel is long."):
        assert by_denial(denial, said(text)) is None
    assert by_denial(denial, said("I never wrote a draft of a novel.")) is None
    assert by_denial(denial, said("I wrote a draft of my novel.", speaker="Bea")) is None


def test_another_speaker_contradicts_and_does_not_update() -> None:
    decision = judged("The weekly running goal is 10 km.", "The weekly running goal is 5 km.", by="Bea")

    assert decision.relation is Relation.CONTRADICTS
    assert decision.review


def test_the_container_must_fit() -> None:
    new = "Please remove Anna Berg from the guest list of the spring concert."
    old = "Please add Anna Berg to the attendees."

    assert judged(new, old, topic="The spring concert needs a guest list.").relation is Relation.UPDATES
    assert judged(new, old, topic="The board meets on Monday.").relation is not Relation.UPDATES


def test_a_change_named_by_one_common_word_is_less_sure() -> None:
    assert (
        judged("The deadline has been moved to June 12.", "The deadline is June 5.").confidence
        < judged("I no longer live in Paris.", "I live in Paris.").confidence
    )
