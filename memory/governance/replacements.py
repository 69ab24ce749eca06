"""Which earlier claims give way to a newer one: those with another value of the same, or the one that it most likely
means. Decides; writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from memory.enums import Relation
from memory.governance.comparison import LEAST_CONFIDENCE, Former, Key, StatementComparison
from memory.governance.conflicts import Decision
from memory.governance.likelihood import Nearness, announces, is_simple, likelihood, may_replace
from memory.governance.references import resolve_references
from memory.governance.updates import Update, is_other_record, update
from memory.text.attributes import attributes
from memory.text.changes import changes
from memory.text.claims import Claim, claims, telling
from memory.text.holders import is_exception, is_other_thing, is_same_holder
from memory.text.utterances import Statement

# What is at least so likely, and no more than likely, is worth a second judge's look; less is not looked at again.
LEAST_LIKELY = 0.3
# What no rule finds is linked when it is so likely; what a rule finds is left alone when it is less likely than this.
LEAST_LINKED = 0.7
LEAST_RULED = 0.4
_LIKELY = "The newer statement says that something changed, and most likely means this."


@dataclass(frozen=True, slots=True)
class _FormerClaim(Generic[Key]):
    """The `claim` of the statement at `place` of the memory `key` gives way as `update` says."""

    key: Key
    place: int
    claim: Claim
    update: Update


@dataclass(frozen=True, slots=True)
class _Pair(Generic[Key]):
    """A newer claim beside the claim `former` of the statement at `place` of the memory `key`. `ruled`: what the rules
    say of it; `weighed`: how likely it is counts, too; `alone`: the earlier statement claims nothing else."""

    key: Key
    place: int
    former: Claim
    ruled: Update | None
    weighed: bool
    alone: bool


def replace_claims(comparison: StatementComparison[Key], place: int) -> None:
    """Ends the earlier claims that give way to what the newer statement at `place` claims."""
    said = comparison.new[place]
    for claim in comparison.new_claims[place]:
        if not (may_update(claim) or announces(claim, said.text)):
            continue
        found = _find_formers(comparison, said, claim)
        ruled = [one for one in found if one.update.reason != _LIKELY]
        if ruled:
            _end_ruled(comparison, said, ruled)
        elif found:
            _end_likeliest(comparison, said, found)


def may_update(claim: Claim) -> bool:
    """Whether a claim gives a value that may be another than before."""
    if not claim.asserts or claim.past:
        return False
    return claim.changes or bool(claim.values) or bool(attributes(claim.clause.text))


def _find_formers(comparison: StatementComparison[Key], said: Statement, claim: Claim) -> list[_FormerClaim[Key]]:
    """The earlier claims that may give way to a `claim` of the statement `said`; none when the time is over."""
    pairs = []
    for key, statements in comparison.earlier.items():
        if comparison.is_out_of_time:
            return []
        if all(old.by_agent for old in statements):
            continue
        for number, (old, formers) in enumerate(zip(statements, comparison.list_earlier_claims(key), strict=True)):
            if old.by_agent:
                continue
            for former in formers:
                if not _may_speak_for(said, claim, old, former):
                    continue
                ruled = _update_of_one_record(said, claim, old, former)
                weighed = comparison.meanings.know(said.text, claim.clause.text, former.clause.text) and may_replace(
                    claim, former, said.text, ruled=ruled is not None
                )
                if ruled is not None or weighed:
                    pairs.append(_Pair(key, number, former, ruled, weighed, alone=len(formers) == 1))
    wanted = {pair.former.clause.text for pair in pairs if pair.weighed}
    near = comparison.meanings.measure(said.text, claim.clause.text, wanted) if wanted else {}
    decided = ((pair, _decide(said, claim, pair, near)) for pair in pairs)
    return [_FormerClaim(pair.key, pair.place, pair.former, one) for pair, one in decided if one is not None]


def _may_speak_for(said: Statement, claim: Claim, old: Statement, former: Claim) -> bool:
    """Not what another says of themselves; of a third thing that both name, anyone may speak."""
    return said.speaker == old.speaker or (claim.owner != "own" and former.owner != "own")


def _decide(said: Statement, claim: Claim, pair: _Pair[Key], near: Mapping[str, Nearness]) -> Update | None:
    """What a `claim` of the statement `said` does to the former one of the pair, by the rules and by how likely it is.
    `near`: how near the clauses of those are that are weighed."""
    former, ruled = pair.former, pair.ruled
    if not pair.weighed:
        return ruled
    rule = ruled.confidence if ruled else 0.0
    sure = likelihood(claim, former, said.text, near[former.clause.text], rule=rule)
    if ruled is not None:
        return ruled if sure >= LEAST_RULED else None
    if sure < LEAST_LIKELY:
        return None
    return Update(_LIKELY, sure, (former.clause.text,), partial=not (pair.alone and is_simple(former)))


def _update_of_one_record(said: Statement, claim: Claim, old: Statement, former: Claim) -> Update | None:
    """What `claim` does to `former`; nothing, when their sentences are of two records and none says that it changed."""
    decided = update(claim, former)
    if decided is None or claim.changes or not is_other_record(said.text, old.text, decided.evidence):
        return decided
    return None


def _end_ruled(comparison: StatementComparison[Key], said: Statement, found: Sequence[_FormerClaim[Key]]) -> None:
    """Ends the claims that the rules found; only linked, when they may be about several things."""
    one_thing = _is_one_thing([one.claim for one in found]) and len({one.update.evidence[:1] for one in found}) < 2
    for one in found:
        _end(comparison, said, one, sure=one_thing and one.update.confidence >= LEAST_CONFIDENCE, linked=True)


def _is_one_thing(formers: Sequence[Claim]) -> bool:
    """Whether all these claims may be about one and the same thing."""
    subjects = [telling(former.subject) | former.names for former in formers]
    return all(one <= other or other <= one for one in subjects for other in subjects)


def _end_likeliest(comparison: StatementComparison[Key], said: Statement, found: Sequence[_FormerClaim[Key]]) -> None:
    """Ends the one of several claims that is meant most likely, as far as it is likely enough."""
    best = max(found, key=lambda one: one.update.confidence)
    sure = best.update.confidence >= LEAST_CONFIDENCE
    _end(comparison, said, best, sure=sure, linked=best.update.confidence >= LEAST_LINKED)


def _end(
    comparison: StatementComparison[Key], said: Statement, former: _FormerClaim[Key], *, sure: bool, linked: bool
) -> None:
    claim, decided, words = former.claim, former.update, None
    if decided.words:
        words = decided.words[0] + claim.clause.start, decided.words[1] + claim.clause.start
    decision = Decision(Relation.UPDATES, decided.reason, decided.evidence, decided.confidence)
    old = comparison.earlier[former.key][former.place]
    comparison.end(
        Former(former.key, former.place, old, decision),
        said=said,
        clause=None if decided.partial and words is None else claim.number,
        words=words,
        sure=sure,
        linked=linked,
    )


def may_stand(
    said: Statement,
    new: Sequence[Statement],
    old: Statement,
    earlier: Sequence[Statement],
    *,
    former_value: str,
    value: str,
) -> bool:
    """Whether `value`, as a clause of `said` (one of `new`) gives it, may take the place of `former_value` in a clause
    of `old` (one of `earlier`): nothing in the two speaks of another holder, thing or time. Without a `value` the
    clause must say that something is over or another."""
    mine = next((own for statement, own in resolve_references(new) if statement == said), ())
    theirs = next((own for statement, own in resolve_references(earlier) if statement == old), ())
    ends = bool(changes(said.text))
    return any(
        former_value in former.clause.text
        and (value in claim.clause.text if value else ends or claim.ends or claim.negated or claim.changes)
        and not (claim.quotes or claim.asks or claim.adds or former.quotes or former.asks)
        and _may_speak_for(said, claim, old, former)
        # By what it is about in its place, and by its own words, which name nobody that the former does not.
        and is_same_holder(claim, former)
        and is_same_holder(alone, former)
        and not alone.people - former.mentions
        and (alone.owner != "other" or former.owner == "other")
        and not is_other_thing(claim, former)
        and not is_exception(claim, former)
        for claim, alone in zip(mine, claims(said.text), strict=False)
        for former in theirs
    )
