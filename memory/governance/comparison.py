"""A newer memory's statements beside those of earlier memories, and what is decided of them: the object that the steps
of `supersession.settle` share."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory.governance.conflicts import Decision
from memory.governance.likelihood import Meanings
from memory.governance.references import resolve_references
from memory.text.claims import Claim
from memory.text.clauses import clauses, cut
from memory.text.utterances import Statement

Key = TypeVar("Key", bound=Hashable)

# What must be as sure as this is carried out; anything less is for a person to see.
LEAST_CONFIDENCE = 0.75


@dataclass(frozen=True, slots=True)
class Retired(Generic[Key]):
    """The statement at [start, end) of the memory `key` is not valid any more, for the reason that `decision` gives.

    `by`: the statement of the newer memory that did it. `names`: index terms by which it stays findable (those of the
    object, for a statement that took something back; none for what was taken back). `holds`: it leaves search only.
    """

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    names: frozenset[str]
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Linked(Generic[Key]):
    """What `by` says takes the place of what the memory `key` says at [start, end), which stays."""

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision


@dataclass(frozen=True, slots=True)
class Unsure(Generic[Key]):
    """What `by` says may take the place of what the memory `key` says at [start, end); `can_cut`: that could leave
    without harm to what stands beside it."""

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    can_cut: bool


@dataclass(frozen=True, slots=True)
class Disputed(Generic[Key]):
    """`by` speaks against what the memory `key` says in the statement `old`."""

    key: Key
    old: Statement
    by: Statement
    decision: Decision


@dataclass(frozen=True, slots=True)
class Settled(Generic[Key]):
    """`retired`: what leaves the default results; `linked`: what gives way to the newer memory, retired or not;
    `review`: what a person must settle; `unsure`: what may give way, for another judge than these rules."""

    retired: list[Retired[Key]] = field(default_factory=list)
    linked: list[Linked[Key]] = field(default_factory=list)
    review: list[Disputed[Key]] = field(default_factory=list)
    unsure: list[Unsure[Key]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Former(Generic[Key]):
    """The statement at `place` of the earlier memory `key`, to which a newer one stands as `decision` says."""

    key: Key
    place: int
    statement: Statement
    decision: Decision


@dataclass(slots=True)
class StatementComparison(Generic[Key]):
    """`new`: the statements of the newer memory `key`; `earlier`: those of earlier memories, all in reading order.

    `meanings`, `until`: see `supersession.settle`. `new_claims`: what each statement claims, with references resolved.
    `settled`: what was decided so far.
    """

    key: Key
    new: Sequence[Statement]
    earlier: Mapping[Key, Sequence[Statement]]
    meanings: Meanings
    until: float
    settled: Settled[Key] = field(default_factory=Settled)
    new_claims: list[tuple[Claim, ...]] = field(init=False)
    _earlier_claims: dict[Key, list[tuple[Claim, ...]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.new_claims = _claims_of(self.new)

    @property
    def is_out_of_time(self) -> bool:
        return time.thread_time() > self.until

    def list_earlier_claims(self, key: Key) -> list[tuple[Claim, ...]]:
        """What each statement of an earlier memory claims, with references resolved."""
        known = self._earlier_claims.get(key)
        if known is None:
            known = self._earlier_claims[key] = _claims_of(self.earlier[key])
        return known

    def statements_of(self, key: Key) -> Sequence[Statement]:
        """The statements of the newer memory or of an earlier one."""
        return self.new if key == self.key else self.earlier[key]

    def end(
        self,
        former: Former[Key],
        *,
        said: Statement,
        clause: int | None,
        words: tuple[int, int] | None,
        sure: bool,
        asked: bool = False,
        linked: bool = True,
    ) -> None:
        """Links a clause (or `words` of the sentence) of an earlier statement to what `said` puts in its place, and
        retires it when that is `sure` and can be done without harm to the rest. `asked`: it is asked to be forgotten,
        and what follows and points back at it goes, too. Not `linked`: it is noted as unsure only."""
        key, old, decision = former.key, former.statement, former.decision
        place = words
        if place is None and clause is not None:
            followed = not asked and _next_refers(self.earlier[key], former.place)
            place = cut(old.text, clause, followed_by_reference=followed)
        if place is not None:
            start, end = old.span(*place)
        elif clause is not None:
            start, end = old.span(clauses(old.text)[clause].start, clauses(old.text)[clause].end)
        else:
            start, end = old.start, old.end
        if linked:
            self.settled.linked.append(Linked(key, start, end, said, decision))
        if not asked and decision.confidence < LEAST_CONFIDENCE and not sure:
            self.settled.unsure.append(Unsure(key, start, end, said, decision, place is not None))
        if sure and place is not None:
            self._retire_surer(Retired(key, start, end, said, decision, frozenset()))

    def retire(
        self,
        key: Key,
        statements: Iterable[Statement],
        *,
        said: Statement,
        decision: Decision,
        names: frozenset[str] = frozenset(),
    ) -> None:
        """Retires whole statements of the memory `key` that are not retired yet."""
        known = {(one.key, one.start) for one in self.settled.retired}
        self.settled.retired.extend(
            Retired(key, one.start, one.end, said, decision, names)
            for one in statements
            if (key, one.start) not in known
        )

    def _retire_surer(self, gone: Retired[Key]) -> None:
        """Adds what is `gone`, in the place of what is gone at the same place for a less sure reason."""
        retired = self.settled.retired
        for number, one in enumerate(retired):
            if (one.key, one.start) == (gone.key, gone.start):
                if one.decision.confidence < gone.decision.confidence:
                    retired[number] = gone
                return
        retired.append(gone)


def _claims_of(statements: Sequence[Statement]) -> list[tuple[Claim, ...]]:
    return [claims for _, claims in resolve_references(statements)]


def _next_refers(statements: Sequence[Statement], place: int) -> bool:
    """Whether the sentence after the one at `place` means little without it."""
    following = statements[place + 1 : place + 2]
    if not following or following[0].by_agent or following[0].turn != statements[place].turn:
        return False
    return clauses(following[0].text)[0].refers
