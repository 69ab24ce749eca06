"""Requests a change of all memories that match a filter; `bulk_run` carries it out.

The ids of the memories are stored by one statement at the time of the request, as a dry run counts them. The filter is
not stored, because it may quote a memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from memory.enums import BulkChangeState, BulkChangeVerb, JobState
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import BulkChange, BulkChangeMemory, Job, Namespace
from memory.models.queries import memories as queries
from memory.retrieval.filters import Filter
from memory.retrieval.predicate import predicate
from memory.services.ingestion.admission import admit_fields
from memory.services.jobs import queue
from memory.services.memories import read, tags
from memory.services.memories.change import check_reason
from memory.services.memories.edit import check_metadata
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy.namespaces import keep_namespaces
from memory.types import Access, Idempotency, Scope

SAMPLE = 10
# The time limit of a job in seconds. The change goes on in another job after about SLICE_SECONDS of `bulk_run`.
JOB_SECONDS = 600


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """The values to change; None, and an empty list or object, leave a value as it is.

    `metadata` replaces all metadata; `set_metadata` sets single keys and `remove_metadata` removes keys.
    """

    metadata: Mapping[str, Any] | None = None
    set_metadata: Mapping[str, Any] = field(default_factory=dict)
    remove_metadata: tuple[str, ...] = ()
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    importance: float | None = None
    pinned: bool | None = None


def archive_where(
    scope: Scope, *, where: Filter | None, reason: str, now: datetime, idempotency: Idempotency | None = None
) -> BulkChange:
    """Choose the active memories that match `where` (None: all), and queue the job that archives them.

    Raises InvalidInput, IdempotencyConflict.
    """
    wanted = {"reason": check_reason(reason)}
    return _request(scope, BulkChangeVerb.ARCHIVE, wanted, _Chosen(where), now=now, idempotency=idempotency)


def edit_where(
    access: Access,
    scope: Scope,
    *,
    where: Filter | None,
    edit: BulkEdit,
    reason: str,
    now: datetime,
    idempotency: Idempotency | None = None,
) -> BulkChange:
    """Choose the active memories that match `where` (None: all), and queue the job that applies `edit` to them.

    Raises InvalidInput, also for values that the gate would refuse, and IdempotencyConflict.
    """
    wanted = check_edit(access, scope, edit=edit, reason=reason)
    return _request(scope, BulkChangeVerb.EDIT, wanted, _Chosen(where), now=now, idempotency=idempotency)


def check_edit(access: Access, scope: Scope, *, edit: BulkEdit, reason: str) -> dict[str, Any]:
    """Return the reason and the values to change as JSON, without unchanged values. Raises InvalidInput."""
    return {"reason": check_reason(reason), **_check_values(access, scope, edit)}


def undo(
    access: Access, *, change_id: uuid.UUID, reason: str, now: datetime, idempotency: Idempotency | None = None
) -> BulkChange:
    """Request a bulk change that restores the memories that another one archived.

    Raises NotFound, InvalidInput, IdempotencyConflict, and Conflict for a change that is not finished or did not
    archive.
    """
    change = find(access, change_id=change_id)
    if change.verb != BulkChangeVerb.ARCHIVE:
        raise Conflict(
            f"What this change did ({change.verb}) is not undone at once. Each memory keeps its former version: "
            "GET /v1/memories/{memory_id}/history lists them, POST /v1/memories/{memory_id}/restore brings one back.",
            detail={"verb": change.verb},
        )
    if change.finished_at is None:
        raise Conflict("The change is not over yet: wait until it is done.", detail={"state": state_of(change)})
    scope = Scope(change.namespace_id, _name_of(change), access.actor)
    wanted = {"reason": check_reason(reason)}
    return _request(scope, BulkChangeVerb.RESTORE, wanted, _Undone(change_id), now=now, idempotency=idempotency)


def preview(scope: Scope, *, verb: BulkChangeVerb, where: Filter | None, now: datetime) -> dict[str, Any]:
    """Return how many memories a change would concern, with the newest SAMPLE of them. Stores nothing."""
    with transaction.atomic():
        change = BulkChange(namespace_id=scope.namespace_id, verb=verb, actor=scope.actor, created_at=now)
        change.matched = _Chosen(where).store(scope, change.id)
        rows = BulkChangeMemory.objects.in_scope(scope).filter(change_id=change.id).order_by("-memory_id")
        ids = list(rows.values_list("memory_id", flat=True)[:SAMPLE])
        transaction.set_rollback(True)
    return {**to_dict(change), "id": None, "state": BulkChangeState.DRY_RUN.value, "sample": read.get_many(scope, ids)}


def find(access: Access, *, change_id: uuid.UUID) -> BulkChange:
    """Return a bulk change of a namespace that the caller reaches. Raises NotFound."""
    change = BulkChange.objects.reachable_by(access).filter(id=change_id).first()
    if change is None:
        raise NotFound(f"There is no bulk change {change_id} that this key reaches.", detail={"field": "id"})
    return change


def to_dict(change: BulkChange) -> dict[str, Any]:
    """Return the progress and result of a bulk change as clients see it."""
    return {
        "id": str(change.id),
        "namespace": _name_of(change),
        "verb": str(change.verb),
        "state": state_of(change),
        "matched": change.matched,
        "changed": change.changed,
        "unchanged": change.unchanged,
        "refused": change.refused,
        "refusals": change.refusals,
        "actor": change.actor,
        "created_at": change.created_at.isoformat(),
        "finished_at": change.finished_at.isoformat() if change.finished_at else None,
        "sample": [],
    }


def state_of(change: BulkChange) -> str:
    """Return the change's state, which follows that of its newest job."""
    if change.finished_at is not None:
        return BulkChangeState.DONE.value
    state = _jobs_of(change).values_list("state", flat=True).first() or JobState.DISCARDED
    # A job that ended before the change was finished has queued the next one.
    return BulkChangeState.RUNNING.value if state == JobState.DONE else str(state)


def forget(*, now: datetime) -> int:
    """Delete the changes older than MEMOS_JOBS_KEEP_DAYS; return how many.

    An unfinished change stays as long as it has a job: a failed job waits for a person.
    """
    oldest = now - timedelta(days=settings.MEMOS_JOBS_KEEP_DAYS)
    deleted = 0
    for change in BulkChange.objects.across_namespaces().filter(created_at__lt=oldest):
        if change.finished_at is None and _jobs_of(change).exists():
            continue
        with transaction.atomic():
            own = {"namespace_id": change.namespace_id}
            BulkChangeMemory.objects.filter(change_id=change.id, **own).delete()
            deleted += BulkChange.objects.filter(id=change.id, **own).delete()[0]
    return deleted


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The active memories that match a filter."""

    where: Filter | None

    def store(self, scope: Scope, change_id: uuid.UUID) -> int:
        """Store these memories as those of the change; return how many."""
        condition = predicate(self.where)
        sql, parameters = (condition.sql, condition.parameters) if condition else ("true", {})
        return queries.choose_matching(scope.namespace_id, change_id, sql, parameters)


@dataclass(frozen=True, slots=True)
class _Undone:
    """The memories that an earlier change changed."""

    change_id: uuid.UUID

    def store(self, scope: Scope, change_id: uuid.UUID) -> int:
        """Store these memories as those of the change; return how many."""
        return queries.choose_changed(scope.namespace_id, change_id, self.change_id)


def _request(
    scope: Scope,
    verb: BulkChangeVerb,
    wanted: dict[str, Any],
    chosen: _Chosen | _Undone,
    *,
    now: datetime,
    idempotency: Idempotency | None,
) -> BulkChange:
    if idempotency and (record := answers.find_answer(idempotency)):
        return _get_change(scope, record.answer)
    with transaction.atomic():
        keep_namespaces([scope])
        change = BulkChange(
            namespace_id=scope.namespace_id, verb=verb, wanted=wanted, actor=scope.actor, created_at=now
        )
        if idempotency is None or answers.claim(
            idempotency, memory_ids=[change.id], answer={"id": str(change.id)}, now=now
        ):
            change.matched = chosen.store(scope, change.id)
            change.save(force_insert=True)
            queue.enqueue(queue.CHANGE_MEMORIES, scope.namespace_id, str(change.id), seconds=JOB_SECONDS)
            return change
    assert idempotency is not None
    record = answers.find_answer(idempotency)
    assert record is not None
    return _get_change(scope, record.answer)


def _get_change(scope: Scope, answer: Mapping[str, Any]) -> BulkChange:
    return BulkChange.objects.in_scope(scope).get(id=uuid.UUID(answer["id"]))


def _check_values(access: Access, scope: Scope, edit: BulkEdit) -> dict[str, Any]:
    """Return the edit as JSON without unchanged values. Raises InvalidInput."""
    if edit.metadata is not None and (edit.set_metadata or edit.remove_metadata):
        raise InvalidInput(
            "metadata takes the place of all that is there: leave out set_metadata and remove_metadata.",
            detail={"field": "metadata"},
        )
    wanted = {name: value for name, value in asdict(edit).items() if value not in (None, {}, (), [])}
    if edit.metadata is not None:
        wanted["metadata"] = dict(edit.metadata)
    for name in ("metadata", "set_metadata"):
        if name in wanted:
            wanted[name] = check_metadata(wanted[name])
            admitted = admit_fields(access, namespace_id=scope.namespace_id, fields={"metadata": wanted[name]})
            wanted[name] = admitted.values["metadata"]
    for name in ("add_tags", "remove_tags"):
        if name in wanted:
            wanted[name] = tags.check_tags(wanted[name])
    if not any(name in wanted for name in asdict(edit)):
        raise InvalidInput("Name something to change.", detail={"field": "body"})
    return wanted


def _jobs_of(change: BulkChange) -> QuerySet[Job]:
    """Return the jobs of the change, newest first."""
    arguments = [change.namespace_id, str(change.id)]
    jobs = Job.objects.filter(namespace_id=change.namespace_id, kind=queue.CHANGE_MEMORIES.name, arguments=arguments)
    return jobs.order_by("-id")


def _name_of(change: BulkChange) -> str:
    return Namespace.objects.values_list("name", flat=True).get(pk=change.namespace_id)
