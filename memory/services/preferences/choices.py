"""Looks for preferences that choices show: what new turns choose is looked up in the holder's earlier turns.

A choice that was made once is kept nowhere: it stands in its turn, and is found there when the same is chosen again.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count

from memory.enums import PreferenceSource, Review, Role
from memory.kinds import PREFERENCE_KEY
from memory.models import Memory, Posting
from memory.models.memory import MemoryQuerySet, spans_of
from memory.services.facts.sources import sources_of
from memory.services.preferences.store import NewPreference, Reversal
from memory.text.analysis import is_cjk, terms
from memory.text.choice_evidence import find_occasion
from memory.text.choices import (
    MAX_TURN_CHARS,
    Occasion,
    find_occasions,
    follow_choices,
    is_enough,
    word_preference,
)
from memory.text.preference_keys import find_key
from memory.text.salience import is_light
from memory.types import Scope

# Turns with the words of a choice, the newest, that are looked through; and turns that a preference rests on at most.
_LOOKED_THROUGH = 200
_MOST_EVIDENCE = 20
# Words by which earlier turns are looked up.
_MOST_TERMS = 200
# What is read of a turn.
READ = (
    "id", "namespace", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state", "superseded_by",
    "retired_spans", "content_hash", "review", "session", "terms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChoiceEvidence:
    """What a language model says that these turns of one holder choose, or turn down.

    `key` names it, `about` words it.
    """

    holder: str
    about: str
    wanted: bool
    key: frozenset[str]
    turns: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A preference that choices show, and the turns that it rests on."""

    holder: str
    about: str
    wanted: bool
    key: frozenset[str]
    turn_ids: frozenset[uuid.UUID]


def find_shown(
    scope: Scope, turns: Iterable[Memory], named: Sequence[ChoiceEvidence] = ()
) -> tuple[list[NewPreference], list[Reversal]]:
    """What the choices of the turns show together with earlier ones of the same speakers; and what they put an end to.

    `turns`: those of people that hold. `named`: what a language model found besides, of which enough is there.
    """
    chosen = {(turn.speaker, one.choice.key): None for turn in turns for one in occasions_of(turn)}
    chosen |= {(one.holder, one.key): None for one in named}
    known = _list_shown(scope, {holder for holder, _ in chosen})
    found: list[NewPreference] = []
    reversals: list[Reversal] = []
    for holder, key in chosen:
        # What rules do not read of it: as it is known, or as it is named now.
        borne: dict[uuid.UUID, _Shown | ChoiceEvidence]
        borne = {turn: one for one in known if (one.holder, one.key) == (holder, key) for turn in one.turn_ids}
        borne |= {turn.pk: one for one in named if (one.holder, one.key) == (holder, key) for turn in one.turns}
        rows = _turns_with(scope, holder, key)
        by_rules = {row.pk for row in rows if any(one.choice.key == key for one in occasions_of(row))}
        shown = follow_choices([one for row in rows for one in _occasions_of(row, key, borne.get(row.pk))])
        run = shown.run[-_MOST_EVIDENCE:]
        if shown.is_preference:
            evidence = tuple(one.turn for one in run)
            by_model = any(turn.pk not in by_rules for turn in evidence)
            found.append(NewPreference(run[0].turn, word_preference(run), by_model, evidence))
        elif shown.ended is not None:
            reversals.append(Reversal(holder, key, not shown.ended.choice.wanted, shown.ended.turn))
    return found, reversals


def keep_enough(scope: Scope, named: Iterable[ChoiceEvidence]) -> list[ChoiceEvidence]:
    """Those that show a preference by themselves, or are about one that choices show already, in whose words they then
    are."""
    wanting = list(named)
    known = _list_shown(scope, {one.holder for one in wanting})
    kept: list[ChoiceEvidence] = []
    for one in wanting:
        same = next((other for other in known if (other.holder, other.key) == (one.holder, one.key)), None)
        near = next((other for other in known if _is_in_words_of(one, other)), None)
        if same is None and near is not None:
            kept.append(replace(one, about=near.about, key=near.key))
        elif same is not None or is_enough([done for row in one.turns if (done := _occasion(row, one)) is not None]):
            kept.append(one)
    return kept


def find_earlier(scope: Scope, turns: Sequence[Memory], *, limit: int) -> list[Memory]:
    """The earlier turns of the same speakers that have most in common with these, rare words first; oldest first.

    Only what is short enough to be a choice, for this is what they are looked at for.
    """
    told = {term for turn in turns if len(turn.text) <= MAX_TURN_CHARS for term in turn.terms if _tells(term)}
    # A turn is indexed with its speaker's name.
    told.difference_update(term for turn in turns for term in terms(turn.speaker))
    if not told:
        return []
    rows = _list_turns(scope, {turn.speaker for turn in turns}).exclude(pk__in=[turn.pk for turn in turns])
    sharing = Posting.objects.in_scope(scope).filter(term__in=sorted(told)[:_MOST_TERMS]).values("memory_id")
    newest = rows.filter(pk__in=sharing).order_by("-pk").only(*READ)[:_LOOKED_THROUGH]
    short = [row for row in newest if len(row.text) <= MAX_TURN_CHARS]
    holding = Counter(term for row in short for term in told.intersection(row.terms))
    worth = {row.pk: sum(1 / holding[term] for term in told.intersection(row.terms)) for row in short}
    nearest = sorted(short, key=lambda row: (-worth[row.pk], -row.occurred_at.timestamp()))[:limit]
    return sorted(nearest, key=lambda row: (row.occurred_at, row.pk))


def place_of(turn: Memory) -> tuple[str, str]:
    """The session and day of a turn: what is chosen twice there was chosen once."""
    return turn.session, turn.occurred_at.date().isoformat()


def occasions_of(turn: Memory) -> list[Occasion[Memory]]:
    """The choices of a turn that rules read, as far as it holds."""
    return find_occasions(turn, text=turn.text, retired=spans_of(turn.retired_spans), place=place_of(turn))


def _occasions_of(turn: Memory, key: frozenset[str], borne: _Shown | ChoiceEvidence | None) -> list[Occasion[Memory]]:
    """The choices of one thing in a turn: by rules, else as it is known to bear them."""
    read = [one for one in occasions_of(turn) if one.choice.key == key]
    other = _occasion(turn, borne) if borne is not None and not read else None
    return read if other is None else [other]


def _occasion(turn: Memory, borne: _Shown | ChoiceEvidence) -> Occasion[Memory] | None:
    return find_occasion(
        turn, text=turn.text, retired=spans_of(turn.retired_spans), place=place_of(turn), about=borne.about,
        wanted=borne.wanted,
    )  # fmt: skip


def _is_in_words_of(one: ChoiceEvidence, other: _Shown) -> bool:
    """Whether both are of the same thing, which one of them names more closely, and the turns bear what is known."""
    if (one.holder, one.wanted) != (other.holder, other.wanted) or not (one.key < other.key or other.key < one.key):
        return False
    return all(_occasion(turn, other) is not None for turn in one.turns)


def _list_shown(scope: Scope, holders: Collection[str]) -> list[_Shown]:
    """What choices of the holders show, as far as it holds or was put away."""
    if not holders:
        return []
    rows = Memory.objects.in_scope(scope).preferences().filter(speaker__in=holders, superseded_by=None)
    shown_by_choices = {f"metadata__{PREFERENCE_KEY}__shown_by": PreferenceSource.CHOICES}
    shown = [
        (row, said, key)
        for row in rows.filter(**shown_by_choices).only("pk", "speaker", "metadata")
        if isinstance(said := row.metadata.get(PREFERENCE_KEY), dict) and (key := find_key(said)) is not None
    ]
    resting = sources_of([scope.namespace_id], [row.pk for row, _, _ in shown])
    return [
        _Shown(
            row.speaker, str(said.get("object", "")), bool(said.get("wanted")), key,
            frozenset(resting.get(row.pk, ())),
        )
        for row, said, key in shown
    ]  # fmt: skip


def _tells(term: str) -> bool:
    """Whether a term says something of what is chosen; a Chinese character by itself is in too much."""
    return not is_light(term) and (len(term) > 1 or not is_cjk(term))


def _list_turns(scope: Scope, speakers: Collection[str]) -> MemoryQuerySet:
    """The turns of people that hold."""
    rows = Memory.objects.in_scope(scope).active().filter(speaker__in=speakers, role=Role.USER, turn__gt=0)
    return rows.filter(superseded_by=None).exclude(review=Review.SUSPECTED)


def _turns_with(scope: Scope, holder: str, key: frozenset[str]) -> Sequence[Memory]:
    """The turns of the holder that have all words of the key, oldest first."""
    sharing = Posting.objects.in_scope(scope).filter(term__in=sorted(key)).values("memory_id")
    having_all = sharing.annotate(found=Count("term")).filter(found=len(key)).values("memory_id")
    newest = _list_turns(scope, [holder]).filter(pk__in=having_all).order_by("-pk").only(*READ)[:_LOOKED_THROUGH]
    return sorted(newest, key=lambda row: (row.occurred_at, row.pk))
