"""What claims that only point back ("it is 5 now", "the new one") are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory.text.claims import Claim, claims, strong
from memory.text.utterances import Statement


def resolve_references(statements: Sequence[Statement]) -> list[tuple[Statement, tuple[Claim, ...]]]:
    """The claims of each statement, in order; one that only points back is about what the claim before it is about."""
    found: list[tuple[Statement, tuple[Claim, ...]]] = []
    before: Claim | None = None
    for statement in statements:
        resolved = []
        for claim in claims(statement.text):
            before = claim if before is None else _after(before, claim)
            resolved.append(before)
        found.append((statement, tuple(resolved)))
    return found


def _after(before: Claim, claim: Claim) -> Claim:
    """The claim as it is meant behind the one `before` it."""
    if _points_back(claim):
        return replace(
            claim,
            owner=before.owner if claim.clause.refers else claim.owner,
            people=claim.people or before.people,
            names=claim.names or before.names,
            subject=claim.subject | before.subject,
            topic=claim.topic | before.topic,
            changes=claim.changes or before.changes,
        )
    if claim.clause.shares_subject and before.changes:
        return replace(claim, changes=True)
    return claim


def _points_back(claim: Claim) -> bool:
    if claim.thing:
        return False
    return claim.clause.refers or (not strong(claim.topic) and bool(claim.values))
