"""Manages adapters in use: activated after checks, loaded into model servers, retired, and unloaded when stale."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AdapterState, AuditEvent
from memory.errors import AdapterServerUnavailable, Conflict
from memory.models import Adapter, TrainingDataset
from memory.models.locks import Lock, try_lock
from memory.services.training import servers
from memory.services.training.adapters import find_adapter, scope_of
from memory.services.training.consent import require_consent
from memory.services.training.datasets import stale_reasons
from memory.services.training.files import check_files, folder_of, remove_files
from memory.services.training.staleness import describe
from memory.types import Access

log = logging.getLogger("memos.adapters")

_USABLE = (AdapterState.CANDIDATE, AdapterState.RETIRED, AdapterState.ACTIVE)
_NAMES = uuid.UUID("5f1f6f5e-0c8e-4f0a-9d5e-3b1a6c1d7e42")


def activate(access: Access, *, adapter_id: uuid.UUID, now: datetime) -> Adapter:
    """Activate an adapter: check it, load it into every server, and retire the active one of the same name.

    An active adapter is loaded where it is missing. Without servers it is active for programs that read its files.
    Raises NotFound, Forbidden without consent, Conflict for an unusable adapter, AdapterServerUnavailable; then
    everything is as before.
    """
    row = find_adapter(access, adapter_id=adapter_id)
    with hold_name(row) as mine:
        if not mine:
            raise _busy()
        row = find_adapter(access, adapter_id=adapter_id)
        _check(row, access.actor)
        former = _find_active(row)
        wanted = servers.addresses()
        # Record it before it is loaded, so that a later run knows where to look after a kill.
        _set_served(row, sorted({*row.served_by, *wanted}))
        try:
            _load_everywhere(row, wanted)
        except AdapterServerUnavailable:
            _put_back(row, former)
            raise
        return _mark_active(access, row, former, wanted, now=now)


def retire(access: Access, *, adapter_id: uuid.UUID, delete_files: bool, now: datetime) -> Adapter:
    """Take an adapter out of use; it can be activated again unless its files are deleted.

    One that is being trained is stopped. Raises NotFound, Conflict, AdapterServerUnavailable.
    """
    row = find_adapter(access, adapter_id=adapter_id)
    with hold_name(row) as mine:
        if not mine:
            raise _busy()
        row = find_adapter(access, adapter_id=adapter_id)
        take_out(row)
        if delete_files and row.files:
            remove_files(row)
        with transaction.atomic():
            stored = lock_row(row)
            if delete_files:
                stored.files = {}
            # A refused or stale adapter stays so: it only loses its files.
            if stored.state in (*_USABLE, AdapterState.TRAINING):
                stored.state, stored.ended_at = AdapterState.RETIRED, now
            stored.rebuild = False
            stored.save(update_fields=["files", "state", "ended_at", "rebuild"])
            audit.record(
                scope_of(stored, access.actor),
                AuditEvent.ADAPTER_RETIRE,
                subject=str(stored.id),
                details={"name": stored.name, "files_deleted": delete_files},
                now=now,
            )
    return stored


def take_out(row: Adapter) -> None:
    """Unload it from the servers that have it. Inside `hold_name`. Raises AdapterServerUnavailable.

    If another adapter of its name is active, that one is loaded instead. A server that is no longer in the settings is
    not contacted.
    """
    listed, active = servers.addresses(), _find_active(row)
    for address in list(row.served_by):
        if address in listed and active is not None:
            servers.load(address, row.served_name, str(check_files(active)))
        elif address in listed:
            servers.unload(address, row.served_name)
        _set_served(row, [one for one in row.served_by if one != address])


def load_where_missing(row: Adapter) -> None:
    """Load an active adapter into servers that lost it, as after a restart."""
    with hold_name(row) as mine:
        stored = Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id, state=AdapterState.ACTIVE).first()
        if not mine or stored is None:
            return
        folder = str(folder_of(stored))
        missing = [one for one in servers.addresses() if not servers.is_served(one, stored.served_name, folder)]
        if missing or set(stored.served_by) != set(servers.addresses()):
            _check(stored, stored.actor)
            _set_served(stored, servers.addresses())
            _load_everywhere(stored, missing)
        if stored.problem:
            Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id).update(problem="")


@contextmanager
def hold_name(row: Adapter) -> Iterator[bool]:
    """Yield whether no other process loads or unloads adapters of this name, and prevent that inside the context."""
    with try_lock(Lock.ADAPTER, uuid.uuid5(_NAMES, row.served_name)) as mine:
        yield mine


def lock_row(row: Adapter) -> Adapter:
    """Lock the stored adapter until the transaction ends, and return it."""
    return Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id).select_for_update().get()


def refuse_stale(row: Adapter) -> None:
    """Raise Conflict if memories that the adapter has learnt no longer hold, as read at this moment."""
    dataset = TrainingDataset.objects.filter(namespace_id=row.namespace_id, id=row.dataset_id).get()
    if reasons := stale_reasons(dataset):
        raise Conflict(
            f"The adapter is stale: of what it has learnt, {describe(reasons)}. Train one on a new data set.",
            detail={"state": AdapterState.STALE.value, "stale": reasons},
        )


def _check(row: Adapter, actor: str) -> None:
    require_consent(scope_of(row, actor))
    refuse_stale(row)
    if row.state not in _USABLE:
        why = f" {row.problem}" if row.problem else ""
        raise Conflict(f"The adapter is {row.state}: it is not used.{why}", detail={"state": str(row.state)})
    if row.refusals or not row.metrics:
        raise Conflict("The adapter has not passed its evaluation: it is not used.", detail={"state": str(row.state)})
    check_files(row)


def _load_everywhere(row: Adapter, wanted: list[str]) -> None:
    folder = str(check_files(row)) if wanted else ""
    for address in wanted:
        servers.load(address, row.served_name, folder)


def _put_back(row: Adapter, former: Adapter | None) -> None:
    """Undo a failed activation: unload the new adapter everywhere, and load the former one as far as possible."""
    for address in servers.addresses():
        try:
            if former is not None and address in former.served_by:
                servers.load(address, row.served_name, str(check_files(former)))
            elif row.state != AdapterState.ACTIVE:
                servers.unload(address, row.served_name)
        except (AdapterServerUnavailable, Conflict) as error:
            # It stays in `served_by`, so that the schedule continues.
            log.warning("an adapter could not be put back", extra={"adapter": str(row.id), "reason": error.message})
            continue
        if row.state != AdapterState.ACTIVE:
            _set_served(row, [one for one in row.served_by if one != address])


def _mark_active(access: Access, row: Adapter, former: Adapter | None, wanted: list[str], *, now: datetime) -> Adapter:
    with transaction.atomic():
        ids = [one.id for one in (row, former) if one is not None]
        list(Adapter.objects.filter(namespace_id=row.namespace_id, id__in=ids).order_by("id").select_for_update())
        stored = lock_row(row)
        still = stored.state == row.state and not stored.erasures
        if still:
            if former is not None:
                Adapter.objects.filter(namespace_id=row.namespace_id, id=former.id).update(
                    state=AdapterState.RETIRED, ended_at=now, served_by=[]
                )
            stored.state, stored.served_by = AdapterState.ACTIVE, wanted
            stored.activated_at, stored.ended_at = now, None
            stored.save(update_fields=["state", "served_by", "activated_at", "ended_at"])
            audit.record(
                scope_of(stored, access.actor),
                AuditEvent.ADAPTER_ACTIVATE,
                subject=str(stored.id),
                details={
                    "name": stored.name,
                    "servers": wanted,
                    "replaces": str(former.id) if former else None,
                    "sha256": {name: about["sha256"] for name, about in stored.files.items()},
                },
                now=now,
            )
            return stored
    # An erasure or a supersession came in between.
    take_out(stored)
    raise Conflict(f"The adapter is {stored.state} meanwhile: it is not used.", detail={"state": str(stored.state)})


def _find_active(row: Adapter) -> Adapter | None:
    """Return the other adapter of the same name that is active."""
    active = Adapter.objects.filter(namespace_id=row.namespace_id, name=row.name, state=AdapterState.ACTIVE)
    return active.exclude(id=row.id).first()


def _set_served(row: Adapter, served_by: list[str]) -> None:
    row.served_by = served_by
    Adapter.objects.filter(namespace_id=row.namespace_id, id=row.id).update(served_by=served_by)


def _busy() -> Conflict:
    return Conflict("Adapters of this name are being changed by somebody else: try again in a moment.")
