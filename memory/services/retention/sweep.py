"""Archives faded and expired memories, and deletes expired packs, evaluations and quarantined texts.

Archiving takes a memory out of retrieval; nothing of it is lost, and `memories.edit.restore` brings it back.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, EvaluationStatus, MemoryState, SweepRule
from memory.governance.clock import Clock, judge
from memory.governance.policy import Policy
from memory.models import ContextPack, EvaluationResult, EvaluationRun, Memory, Namespace, UpkeepMark
from memory.models.locks import Lock, try_lock
from memory.services.ingestion import quarantine
from memory.services.memories import edit, usage
from memory.services.retention import due, importance
from memory.services.retention.due import Due
from memory.services.tenancy import holds
from memory.services.tenancy.policy import governing
from memory.types import Scope

SWEEP = "sweep"
# The number of memories that one transaction archives, and of packs or evaluations that one deletes.
BATCH = 500
# The position before all namespaces, where a sweep begins.
ALL = -1
# Evaluations of datasets do not belong to a namespace.
NO_NAMESPACE = Namespace(id=0, name="")


@dataclass(frozen=True, slots=True)
class SweepTally:
    """The effects of a sweep, or of a dry run, in one namespace. `rated`: memories that got another importance."""

    decayed: int = 0
    expired: int = 0
    packs: int = 0
    evaluations: int = 0
    quarantined: int = 0
    rated: int = 0

    def __add__(self, other: SweepTally) -> SweepTally:
        return SweepTally(*(getattr(self, name) + getattr(other, name) for name in asdict(self)))

    @property
    def anything(self) -> bool:
        return any(asdict(self).values())


@dataclass(frozen=True, slots=True)
class Swept:
    """The effects of a sweep by namespace; namespaces without a change are left out.

    `paused`: the reason why it did nothing; `skipped`: the reasons why it left namespaces out; `finished`: whether it
    completed, otherwise the next one continues where it ended.
    """

    namespaces: Mapping[str, SweepTally] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    paused: str = ""
    finished: bool = True

    @property
    def total(self) -> SweepTally:
        return sum(self.namespaces.values(), SweepTally())


def sweep(*, actor: str, now: datetime, seconds: float = float("inf"), accept_clock: bool = False) -> Swept:
    """Sweep every namespace, one after the other, for about `seconds`. Repeated at once, it finds nothing to do.

    Only one sweep works at a time; another one does nothing. Nor does it do anything while the clock cannot be trusted
    (memory.governance.clock), unless `accept_clock` says that it is right.
    """
    deadline = time.monotonic() + seconds
    with try_lock(Lock.SWEEP) as first:
        if not first:
            return Swept(paused="another sweep is at work", finished=False)
        problem = _look_at_clock(actor, now=now, accept=accept_clock)
        if problem:
            return Swept(paused=problem, finished=False)
        # Count recent uses first, so that used memories do not fade.
        usage.count_uses(now=now, seconds=deadline - time.monotonic())
        return _sweep_all(actor, now=now, deadline=deadline)


def dry_run(*, now: datetime) -> Swept:
    """Return what a sweep would archive and delete now. Writes nothing, and does not check the clock."""
    tallies: dict[str, SweepTally] = {}
    skipped: dict[str, str] = {}
    for namespace in _namespaces(after=ALL):
        policy, problem = _policy_of(namespace)
        if problem:
            skipped[namespace.name] = problem
            continue
        tally = would_do(namespace.pk, policy, now=now)
        if tally.anything:
            tallies[namespace.name] = tally
    return Swept(tallies, skipped)


def would_do(namespace_id: int, policy: Policy, *, now: datetime) -> SweepTally:
    """Return what a sweep under `policy` would archive and delete in the namespace now."""
    counts = due.counts(namespace_id, policy, now=now)
    return SweepTally(
        counts.decayed,
        counts.expired,
        packs=_old_packs(namespace_id, policy, now=now).count() if _deletes(policy.packs_days, policy) else 0,
        evaluations=_old_runs(namespace_id, policy, now=now).count() if _deletes(policy.evaluation_days, policy) else 0,
        quarantined=quarantine.select_expired(namespace_id, days=policy.quarantine_days, now=now).count()
        if _deletes(policy.quarantine_days, policy)
        else 0,
    )


def _sweep_all(actor: str, *, now: datetime, deadline: float) -> Swept:
    mark = UpkeepMark.objects.get(name=SWEEP)
    tallies: dict[str, SweepTally] = {}
    skipped: dict[str, str] = {}
    for namespace in _namespaces(after=mark.at_namespace):
        policy, problem = _policy_of(namespace)
        if problem:
            skipped[namespace.name] = problem
        else:
            scope = Scope(namespace.pk, namespace.name, actor)
            tally = _sweep_one(scope, policy, now=now, deadline=deadline)
            if tally.anything:
                tallies[namespace.name or "(datasets)"] = tally
        if time.monotonic() >= deadline:
            # The namespace may not be done, but the next run begins after it, so that a large one cannot starve others.
            UpkeepMark.objects.filter(name=SWEEP).update(at_namespace=namespace.pk)
            return Swept(tallies, skipped, finished=False)
    UpkeepMark.objects.filter(name=SWEEP).update(at_namespace=ALL)
    return Swept(tallies, skipped)


def _sweep_one(scope: Scope, policy: Policy, *, now: datetime, deadline: float) -> SweepTally:
    rated = importance.rate(scope.namespace_id, deadline=deadline) if scope.namespace_id else 0
    archived: Counter[SweepRule] = Counter()
    # Every batch checks again, because the policy may hold the namespace by then.
    after: uuid.UUID | None = due.FIRST if scope.namespace_id and not policy.legal_hold else None
    while after is not None and time.monotonic() < deadline:
        batch, after = _archive_batch(scope, policy, after=after, now=now)
        archived.update(found.rule for found in batch)
    return SweepTally(
        archived[SweepRule.DECAYED],
        archived[SweepRule.EXPIRED],
        packs=_delete_packs(scope, policy, now=now, deadline=deadline),
        evaluations=_delete_evaluations(scope, policy, now=now, deadline=deadline),
        quarantined=_delete_quarantined(scope, policy, now=now, deadline=deadline),
        rated=rated,
    )


def _archive_batch(
    scope: Scope, policy: Policy, *, after: uuid.UUID, now: datetime
) -> tuple[list[Due], uuid.UUID | None]:
    with transaction.atomic():
        if holds.on_namespace(scope.namespace_id):
            return [], None
        found, following = due.lock_page(scope.namespace_id, policy, after=after, limit=BATCH, now=now)
        if not found:
            return [], following
        why = {entry.memory_id: entry for entry in found}
        memories = list(
            Memory.objects.in_scope(scope)
            .filter(pk__in=why)
            .only("id", "namespace_id", "session", "turn", "terms", "length")
        )
        edit.put_away(memories)
        states = {"before": {"state": MemoryState.ACTIVE}, "after": {"state": MemoryState.ARCHIVED}}
        audit.record_many(
            [
                audit.fields(
                    scope,
                    AuditEvent.MEMORY_ARCHIVE,
                    session=memory.session,
                    subject=str(memory.pk),
                    details={**why[memory.pk].explain(policy), **states},
                    now=now,
                )
                for memory in memories
            ]
        )
    return found, following


def _delete_packs(scope: Scope, policy: Policy, *, now: datetime, deadline: float) -> int:
    if not _deletes(policy.packs_days, policy):
        return 0
    deleted = 0
    while time.monotonic() < deadline:
        with transaction.atomic():
            if holds.on_namespace(scope.namespace_id):
                break
            # Ids sort by time, so the oldest come first and the walk ends at the first one that stays.
            oldest = ContextPack.objects.in_scope(scope).order_by("id").values_list("pk", "created_at")[:BATCH]
            limit = now - timedelta(days=policy.packs_days)
            old = [identity for identity, created_at in oldest if created_at < limit]
            count = ContextPack.objects.in_scope(scope).filter(pk__in=old).delete()[0]
            if count:
                _record_deleted(scope, {"context_packs": count, "older_than": limit.isoformat()}, now=now)
        deleted += count
        if len(old) < BATCH:
            break
    return deleted


def _delete_evaluations(scope: Scope, policy: Policy, *, now: datetime, deadline: float) -> int:
    if not _deletes(policy.evaluation_days, policy):
        return 0
    deleted = 0
    while time.monotonic() < deadline:
        with transaction.atomic():
            if holds.on_namespace(scope.namespace_id):
                break
            old = list(_old_runs(scope.namespace_id, policy, now=now).values_list("pk", flat=True)[:BATCH])
            EvaluationResult.objects.in_scope(scope).filter(run_id__in=old).delete()
            count = EvaluationRun.objects.in_scope(scope).filter(pk__in=old).delete()[0]
            if count:
                _record_deleted(scope, {"evaluations": count}, now=now)
        deleted += count
        if len(old) < BATCH:
            break
    return deleted


def _delete_quarantined(scope: Scope, policy: Policy, *, now: datetime, deadline: float) -> int:
    if not _deletes(policy.quarantine_days, policy):
        return 0
    return quarantine.delete_expired(scope, days=policy.quarantine_days, now=now, deadline=deadline)


def _old_packs(namespace_id: int, policy: Policy, *, now: datetime) -> Any:
    return ContextPack.objects.filter(namespace_id=namespace_id, created_at__lt=now - timedelta(days=policy.packs_days))


def _old_runs(namespace_id: int, policy: Policy, *, now: datetime) -> Any:
    """Select evaluations that are finished and old; a waiting or running one is never deleted."""
    return EvaluationRun.objects.filter(
        namespace_id=namespace_id,
        created_at__lt=now - timedelta(days=policy.evaluation_days),
        status__in=[EvaluationStatus.FINISHED, EvaluationStatus.FAILED],
    )


def _deletes(days: int, policy: Policy) -> bool:
    return days > 0 and not policy.legal_hold


def _record_deleted(scope: Scope, details: dict[str, Any], *, now: datetime) -> None:
    audit.record(scope, AuditEvent.RETENTION_DELETE, details=details, now=now)


def _namespaces(*, after: int) -> Iterator[Namespace]:
    """Yield the namespaces after `after`; from ALL on, first the datasets, which have none."""
    if after == ALL:
        yield NO_NAMESPACE
    yield from Namespace.objects.filter(pk__gt=after).order_by("pk").only("id", "name").iterator()


def _policy_of(namespace: Namespace) -> tuple[Policy, str]:
    """Return the policy of the namespace, and the reason why it cannot be swept, or ''."""
    found = governing(namespace.pk)
    problem = "; ".join(f"{key} {problem}" for key, problem in found.problems.items())
    return found.effective.policy, problem


def _look_at_clock(actor: str, *, now: datetime, accept: bool) -> str:
    """Store the clock's time; return the reason why it cannot be trusted, or ''."""
    UpkeepMark.objects.get_or_create(name=SWEEP)
    with transaction.atomic():
        mark = UpkeepMark.objects.select_for_update().get(name=SWEEP)
        before = Clock() if accept else Clock(mark.trusted_at, mark.doubted_at, mark.seen_at)
        judged = judge(before, now=now)
        doubted = mark.doubted_at is not None
        mark.trusted_at, mark.doubted_at, mark.seen_at = (
            judged.clock.trusted_at,
            judged.clock.doubted_at,
            judged.clock.seen_at,
        )
        mark.save(update_fields=["trusted_at", "doubted_at", "seen_at"])
        if judged.problem and not doubted:
            audit.record_system(actor, AuditEvent.SWEEP_PAUSE, details={"reason": judged.problem}, now=now)
        elif doubted and not judged.problem:
            reason = "a person said that the clock is right" if accept else "the clock has gone on steadily"
            audit.record_system(actor, AuditEvent.SWEEP_RESUME, details={"reason": reason}, now=now)
    return judged.problem
