"""Finds preferences that choices show, by looking up the choices of new turns in the holder's earlier turns.

A single choice is not stored: it stands in its turn, and is found there when the same is chosen again.
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

# The most turns with the words of a choice that are read, newest first; and the most that a preference rests on.
_LOOKED_THROUGH = 200
_MOST_EVIDENCE = 20
# The most words by which earlier turns are looked up.
_MOST_TERMS = 200
# The columns that are read of a turn.
READ = (
    "id", "namespace", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state", "superseded_by",
    "retired_spans", "content_hash", "review", "session", "terms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChoiceEvidence:
    """A language model's claim that these turns of one holder choose, or turn down, a thing.

    `key` names the thing, `about` words it.
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
    """Find the preferences that the turns' choices show together with earlier ones of the same speakers, and the
    preferences that they end.

    `turns`: turns of people that hold. `named`: further choices with enough evidence, which a language model found.
    """
    chosen = {(turn.speaker, one.choice.key): None for turn in turns for one in occasions_of(turn)}
    chosen |= {(one.holder, one.key): None for one in named}
    known = _list_shown(scope, {holder for holder, _ in chosen})
    found: list[NewPreference] = []
    reversals: list[Reversal] = []
    for holder, key in chosen:
        # Choices that rules do not read in a turn, as already stored or as named now.
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
    """Keep the claims that show a preference by themselves, or concern one that choices show already and take its
    words."""
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
    """Find the earlier turns of the same speakers that have most in common with these, rare words first; oldest first.

    Only turns short enough to be a choice are searched, because the results are read for choices.
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
    """Return the session and day of a turn: things chosen twice there count once."""
    return turn.session, turn.occurred_at.date().isoformat()


def occasions_of(turn: Memory) -> list[Occasion[Memory]]:
    """Return the choices that rules read in the parts of a turn that hold."""
    return find_occasions(turn, text=turn.text, retired=spans_of(turn.retired_spans), place=place_of(turn))


def _occasions_of(turn: Memory, key: frozenset[str], borne: _Shown | ChoiceEvidence | None) -> list[Occasion[Memory]]:
    """Return the choices of one thing in a turn: by rules, else the one that it is known to contain."""
    read = [one for one in occasions_of(turn) if one.choice.key == key]
    other = _occasion(turn, borne) if borne is not None and not read else None
    return read if other is None else [other]


def _occasion(turn: Memory, borne: _Shown | ChoiceEvidence) -> Occasion[Memory] | None:
    return find_occasion(
        turn, text=turn.text, retired=spans_of(turn.retired_spans), place=place_of(turn), about=borne.about,
        wanted=borne.wanted,
    )  # fmt: skip


def _is_in_words_of(one: ChoiceEvidence, other: _Shown) -> bool:
    """Return whether both concern the same thing, which one names more closely, and the turns support the stored
    one."""
    if (one.holder, one.wanted) != (other.holder, other.wanted) or not (one.key < other.key or other.key < one.key):
        return False
    return all(_occasion(turn, other) is not None for turn in one.turns)


def _list_shown(scope: Scope, holders: Collection[str]) -> list[_Shown]:
    """Return the preferences that choices of the holders show, including archived ones but not superseded ones."""
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
    """Return whether a term says something about the choice; a single Chinese character occurs in too many texts."""
    return not is_light(term) and (len(term) > 1 or not is_cjk(term))


def _list_turns(scope: Scope, speakers: Collection[str]) -> MemoryQuerySet:
    """Select the turns of people that hold."""
    rows = Memory.objects.in_scope(scope).active().filter(speaker__in=speakers, role=Role.USER, turn__gt=0)
    return rows.filter(superseded_by=None).exclude(review=Review.SUSPECTED)


def _turns_with(scope: Scope, holder: str, key: frozenset[str]) -> Sequence[Memory]:
    """Return the holder's turns that have all words of the key, oldest first."""
    sharing = Posting.objects.in_scope(scope).filter(term__in=sorted(key)).values("memory_id")
    having_all = sharing.annotate(found=Count("term")).filter(found=len(key)).values("memory_id")
    newest = _list_turns(scope, [holder]).filter(pk__in=having_all).order_by("-pk").only(*READ)[:_LOOKED_THROUGH]
    return sorted(newest, key=lambda row: (row.occurred_at, row.pk))
