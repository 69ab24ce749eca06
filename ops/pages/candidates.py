"""Builds the candidate list of the radar and the inspector: places, parts of their scores, and the verdict."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.enums import ARMS, Verdict
from memory.services.recall.probe import MemoryOrigin, Seen
from ops.words import Words

PART_WORDS: dict[str, Words] = {
    "dense": _("Meaning"),
    "lexical": _("Words"),
    "neighbours": _("Turns around"),
    "answer": _("Answers a question"),
    "session": _("Conversation"),
    "people": _("Speaker named"),
    "entities": _("Entities"),
    "preference": _("Preference"),
    "role": _("Side asked about"),
    "dated": _("Says when"),
    "time": _("Time named"),
    "question": _("Is a question"),
    "recency": _("Recent"),
    "importance": _("Importance"),
    "rerank": _("Reranker"),
    "variety": _("Too alike"),
    "successor": _("In the older one's place"),
    "retired": _("Retired words"),
}
# The word, the tone and the dot's shape of each verdict.
VERDICTS: dict[str, tuple[Words, str, str]] = {
    Verdict.RETURNED.value: (pgettext_lazy("verdict", "Returned"), "good", "circle"),
    Verdict.RESTATED.value: (pgettext_lazy("verdict", "Says the same"), "weak", "square"),
    Verdict.VARIETY.value: (pgettext_lazy("verdict", "Too alike"), "weak", "diamond"),
    Verdict.IRRELEVANT.value: (pgettext_lazy("verdict", "Not relevant"), "off", "ring"),
    Verdict.OUTRANKED.value: (pgettext_lazy("verdict", "Outranked"), "off", "ring"),
    Verdict.NOT_A_CANDIDATE.value: (pgettext_lazy("verdict", "No candidate"), "off", "ring"),
    Verdict.FILTERED.value: (pgettext_lazy("verdict", "Filtered out"), "weak", "ring"),
    Verdict.RECORDED_LATER.value: (pgettext_lazy("verdict", "Recorded later"), "info", "ring"),
    Verdict.NOT_HOLDING.value: (pgettext_lazy("verdict", "Holds no longer"), "weak", "ring"),
    Verdict.ARCHIVED.value: (pgettext_lazy("verdict", "Archived"), "off", "ring"),
}


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """Holds one arm's or signal's part: its raw value, its place in the arm, its weight, and its share of the score."""

    name: str
    word: Words
    raw: float
    rank: int | None
    weight: float | None
    share: float


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """Holds one row of the table and one dot of the plot.

    `place` is its place in the list, `place_raw` the place that meaning and words alone would give it there; `rank` is
    that of the hit, or of a dropped one among all candidates. `raw` is the share of meaning and words, `score` the sum
    of all parts; `relevance` (0..1) is known of hits. `marked`: whether a person marked it as relevant, None for
    neither.
    """

    id: uuid.UUID
    returned: bool
    place: int
    place_raw: int
    rank: int
    score: float
    relevance: float | None
    raw: float
    parts: list[ScoreShare]
    verdict: str
    reason: str
    other: str
    source: MemoryOrigin | None
    text: str
    changed: bool
    marked: bool | None

    @property
    def word(self) -> Words:
        return VERDICTS[self.verdict][0]

    @property
    def tone(self) -> str:
        return VERDICTS[self.verdict][1]

    @property
    def shape(self) -> str:
        return VERDICTS[self.verdict][2]

    @property
    def colour(self) -> str:
        """Returns the tone of its dot."""
        return {"off": "grey", "info": "blue"}.get(self.tone, self.tone)

    @property
    def delta(self) -> int:
        """Returns by how many places the signals lifted it; negative if they lowered it."""
        return self.place_raw - self.place

    @property
    def steps(self) -> int:
        """Returns the number of places that it moved."""
        return abs(self.delta)

    @property
    def dense(self) -> ScoreShare | None:
        return self._part("dense")

    @property
    def lexical(self) -> ScoreShare | None:
        return self._part("lexical")

    @property
    def signals(self) -> list[ScoreShare]:
        """Lists the signals for or against it, the strongest first."""
        return sorted((part for part in self.parts if part.name not in ARMS), key=lambda part: -abs(part.share))

    def _part(self, name: str) -> ScoreShare | None:
        return next((part for part in self.parts if part.name == name), None)


def candidates(seen: Seen, marks: Mapping[uuid.UUID, bool]) -> list[CandidateRow]:
    """Lists the hits, best first, then the rejected candidates, best first."""
    rows: list[tuple[Mapping[str, Any], bool, str]] = []
    for hit, explained in zip(seen.found.hits, seen.found.explanations, strict=True):
        rows.append((explained, True, hit.text))
    dropped = sorted(seen.found.dropped, key=lambda entry: -entry["final"])
    rows += [(entry, False, "") for entry in dropped]
    arms = [sum(part["weighted"] for part in row["arms"].values()) for row, _, _ in rows]
    by_arms = sorted(range(len(rows)), key=lambda index: -arms[index])
    place_raw = {index: place for place, index in enumerate(by_arms, start=1)}
    found = []
    for index, (row, returned, text) in enumerate(rows):
        identity = uuid.UUID(row["id"])
        source = seen.sources.get(identity)
        now = source.text if source else ""
        found.append(
            CandidateRow(
                id=identity,
                returned=returned,
                place=index + 1,
                place_raw=place_raw[index],
                rank=row["rank"],
                score=row["final"],
                relevance=row.get("relevance"),
                raw=arms[index],
                parts=parts_of(row),
                verdict=Verdict.RETURNED.value if returned else row["verdict"],
                reason=row["reason"],
                other=row.get("other") or "",
                source=source,
                text=text if returned else now,
                changed=returned and text != now,
                marked=marks.get(identity),
            )
        )
    return found


def parts_of(row: Mapping[str, Any]) -> list[ScoreShare]:
    """Returns the parts of a score, as `memory.retrieval.explain.parts` gives them: arms first."""
    return [
        ScoreShare(name, PART_WORDS.get(name, name), part["raw"], part.get("rank"), part["weight"], part["weighted"])
        for group in (row["arms"], row["signals"])
        for name, part in group.items()
    ]


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """Holds a memory in two lists: its place and score in each (None: it is not in that list)."""

    id: uuid.UUID
    before: int | None
    after: int | None
    score_before: float | None
    score_after: float | None
    text: str
    session: str
    said_at: datetime | None
    reason: str = ""

    @property
    def kind(self) -> str:
        """Returns came, went, up, down or same."""
        if self.before is None:
            return "came"
        if self.after is None:
            return "went"
        return "up" if self.after < self.before else "down" if self.after > self.before else "same"

    @property
    def steps(self) -> int:
        """Returns the number of places that it moved."""
        return abs((self.before or 0) - (self.after or 0))


def compare_places(before: Sequence[CandidateRow], after: Sequence[CandidateRow]) -> list[PlaceChange]:
    """Compares the results of two settings: those of the second in their order, then those only in the first."""
    first = {row.id: row for row in before if row.returned}
    second = {row.id: row for row in after if row.returned}
    return [
        PlaceChange(
            identity,
            one.rank if (one := first.get(identity)) else None,
            other.rank if (other := second.get(identity)) else None,
            one.score if one else None,
            other.score if other else None,
            (other or one).text,  # type: ignore[union-attr]
            source.session if (source := (other or one).source) else "",  # type: ignore[union-attr]
            source.occurred_at if source else None,
        )
        for identity in [*second, *(identity for identity in first if identity not in second)]
    ]
