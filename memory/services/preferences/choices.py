"""Looks for preferences that choices show: what new turns choose is looked up in the holder's earlier turns.

A choice that was made once is kept nowhere: it stands in its turn, and is found there when the same is chosen again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.enums import Review, Role
from memory.models import Memory, Posting
from memory.models.memory import spans_of
from memory.services.preferences.store import NewPreference, Reversal
from memory.text.choices import Occasion, find_occasions, follow_choices, word_preference
from memory.types import Scope

# Turns with the words of a choice, the newest, that are looked through; and turns that a preference rests on at most.
_LOOKED_THROUGH = 200
_MOST_EVIDENCE = 20
# What is read of a turn.
READ = (
    "id", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state", "superseded_by", "retired_spans",
    "content_hash", "review", "session",
)  # fmt: skip


def find_shown(scope: Scope, turns: Iterable[Memory]) -> tuple[list[NewPreference], list[Reversal]]:
    """What the choices of the turns show together with earlier ones of the same speakers; and what they put an end to.

    `turns`: those of people that hold.
    """
    chosen = {(turn.speaker, one.choice.key): None for turn in turns for one in occasions_of(turn)}
    found: list[NewPreference] = []
    reversals: list[Reversal] = []
    for holder, key in chosen:
        rows = _turns_with(scope, holder, key)
        shown = follow_choices([one for row in rows for one in occasions_of(row) if one.choice.key == key])
        run = shown.run[-_MOST_EVIDENCE:]
        if shown.is_preference:
            evidence = tuple(one.turn for one in run)
            found.append(NewPreference(run[0].turn, word_preference(run), evidence=evidence))
        elif shown.ended is not None:
            reversals.append(Reversal(holder, key, not shown.ended.choice.wanted, shown.ended.turn))
    return found, reversals


def occasions_of(turn: Memory) -> list[Occasion[Memory]]:
    """The choices of a turn, as far as it holds."""
    place = (turn.session, turn.occurred_at.date().isoformat())
    return find_occasions(turn, text=turn.text, retired=spans_of(turn.retired_spans), place=place)


def _turns_with(scope: Scope, holder: str, key: frozenset[str]) -> Sequence[Memory]:
    """The turns of the holder that have all words of the key, oldest first."""
    rows = Memory.objects.in_scope(scope).active().filter(speaker=holder, role=Role.USER, turn__gt=0)
    rows = rows.filter(superseded_by=None).exclude(review=Review.SUSPECTED)
    for term in sorted(key):
        rows = rows.filter(pk__in=Posting.objects.in_scope(scope).filter(term=term).values("memory_id"))
    newest = rows.order_by("-pk").only(*READ)[:_LOOKED_THROUGH]
    return sorted(newest, key=lambda row: (row.occurred_at, row.pk))
