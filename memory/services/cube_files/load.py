"""Loads the parts of a cube's file, step by step and batch by batch, through the services that own the data.

Each batch is stored in one transaction with the progress of the load. Everything passes the gate; erased data stay
erased.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import DataError, IntegrityError, transaction
from django.db.models import QuerySet

from memory import audit
from memory.enums import AuditEvent
from memory.errors import InvalidInput, NamespaceGone
from memory.gate.fields import judge_fields
from memory.governance.policy import nest
from memory.models import (
    AuditLog,
    Condensation,
    Document,
    EntityAlias,
    MemoryLink,
    NamespacePolicy,
    QuarantinedItem,
    Session,
    UnsurePair,
)
from memory.policy_values import BY_KEY
from memory.postgresql.faults import lacks_namespace
from memory.services.cube_files import rows
from memory.services.cube_files.archive import CubeReader
from memory.services.cube_files.column_values import IdMap, to_uuid
from memory.services.cube_files.load_context import (
    ERASED,
    LEFT_OUT,
    NEW,
    PRESENT,
    UNREADABLE,
    BatchReport,
    Lines,
    LoadContext,
)
from memory.services.cube_files.load_memories import load_memories
from memory.services.cube_files.load_options import part_of
from memory.services.entities.take_over import mark_documents_read, take_over_names
from memory.services.erasure.erased_before import BroughtMemory
from memory.services.ingestion.documents_take_over import take_over_documents
from memory.services.ingestion.take_over import (
    find_equals,
    find_quarantined,
    take_over_ends,
    take_over_quarantine,
)
from memory.services.memories.take_over import (
    take_over_links,
    take_over_pairs,
)
from memory.services.summaries.take_over import take_over_summaries
from memory.services.tenancy.policy import check_overrides, governing, in_force, put_policy, take_over_history
from memory.services.tenancy.procedures import take_over_procedures

# Rows that refer to two memories.
Join = TypeVar("Join", bound=MemoryLink | UnsurePair)

BATCH = 250
LISTED = 200
# The key of the counts of memories' legal holds, among those of the parts.
HOLDS = "legal_holds"
_POLICY_REASON = "Loaded with a cube's file."
Transact = Callable[[Callable[[], BatchReport], Lines], None]


class CubeLoader:
    """Loads batches of one file into one namespace; with `dry_run` it only reports what it would do."""

    def __init__(self, context: LoadContext) -> None:
        self._context = context

    def load_batch(self, step: str, lines: Lines, *, now: datetime) -> BatchReport:
        """Load numbered lines of the part that a step reads; inside the caller's transaction."""
        report = BatchReport()
        getattr(self, f"_load_{step}")(lines, report, now)
        return report

    def _load_documents(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        named = {}

        def read(line: dict[str, Any]) -> Document:
            document = rows.read_document(line, self._context.ids)
            named[document.id] = (line.get("id"), line.get("named") is True)
            return document

        documents = self._context.read(lines, read, report)
        since = {to_uuid(named[one.id][0]): one.updated_at for one in documents}
        since |= {one.id: one.updated_at for one in documents}
        erased = self._context.erased.list_documents(since)
        kept = [one for one in documents if not {one.id, to_uuid(named[one.id][0])} & erased]
        report.counts[ERASED] += len(documents) - len(kept)
        new, present, left_out = take_over_documents(self._context.scope, kept, dry_run=self._context.dry_run, now=now)
        report.counts.update({NEW: len(new), PRESENT: present, LEFT_OUT: left_out})
        if not self._context.dry_run:
            mark_documents_read(self._context.scope, [(one.id, one.version) for one in new if named[one.id][1]])

    def _load_names(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        names = self._context.read(lines, lambda line: rows.read_name(line, self._context.ids), report)
        if self._context.dry_run:
            keys = {alias.key for alias, _, _ in names}
            known = set(
                EntityAlias.objects.in_scope(self._context.scope).filter(key__in=keys).values_list("key", "variant")
            )
            present = sum((alias.key, alias.variant) in known for alias, _, _ in names)
            report.counts.update({NEW: len(names) - present, PRESENT: present})
            return
        new, present, left_out = take_over_names(self._context.scope, names)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_memories(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        load_memories(self._context, lines, report, now=now)

    def _load_sessions(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        """Count the sessions: loading memories creates them, and one without loaded memories is not created."""
        sessions = self._context.read(lines, lambda line: rows.read_session(line, self._context.ids), report)
        names = [one.name for one in sessions]
        present = Session.objects.in_scope(self._context.scope).filter(name__in=names).count()
        report.counts.update({NEW: len(sessions) - present, PRESENT: present})

    def _load_session_ends(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        if self._context.dry_run:
            return
        # Unreadable lines were counted with the sessions.
        sessions = self._context.read(lines, lambda line: rows.read_session(line, self._context.ids), BatchReport())
        left_out = len(sessions) - take_over_ends(self._context.scope, sessions)
        report.counts.update({NEW: -left_out, LEFT_OUT: left_out})

    def _load_links(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        links = self._read_ends(lines, rows.read_link, ("memory_id", "other_id"), report)
        if self._context.dry_run:
            self._count_known(MemoryLink.objects.in_scope(self._context.scope), links, report)
            return
        new, left_out = take_over_links(self._context.scope, links)
        report.counts.update({NEW: new, LEFT_OUT: left_out, PRESENT: len(links) - new - left_out})

    def _load_pairs(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        pairs = self._read_ends(lines, rows.read_pair, ("newer_id", "older_id"), report)
        if self._context.dry_run:
            self._count_known(UnsurePair.objects.in_scope(self._context.scope), pairs, report)
            return
        new, left_out = take_over_pairs(self._context.scope, pairs, verdicts=self._context.reader.is_trusted, now=now)
        report.counts.update({NEW: new, LEFT_OUT: left_out, PRESENT: len(pairs) - new - left_out})

    def _read_ends(
        self,
        lines: Lines,
        read: Callable[[dict[str, Any], IdMap], Join],
        ends: tuple[str, str],
        report: BatchReport,
    ) -> list[Join]:
        """Return rows that refer to two memories in their fields `ends`, with the ids that these memories have here."""
        origins: dict[uuid.UUID, tuple[uuid.UUID, ...]] = {}

        def read_line(line: dict[str, Any]) -> Join:
            row = read(line, self._context.ids)
            origins[row.id] = tuple(to_uuid(line[name]) for name in ends)
            return row

        found = self._context.read(lines, read_line, report)
        equals = find_equals(self._context.scope, {origin for both in origins.values() for origin in both})
        for row in found:
            for name, origin in zip(ends, origins[row.id], strict=True):
                setattr(row, name, equals.get(origin, getattr(row, name)))
        return found

    def _count_known(self, here: QuerySet, found: Sequence[Join], report: BatchReport) -> None:
        known = here.filter(id__in=[one.id for one in found]).count()
        report.counts.update({NEW: len(found) - known, PRESENT: known})

    def _load_procedures(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        entries = self._context.read(lines, lambda line: rows.read_procedure(line, self._context.ids), report)
        new, present, left_out = take_over_procedures(self._context.scope, entries, dry_run=self._context.dry_run)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_summaries(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        summaries = self._context.read(lines, lambda line: rows.read_summary(line, self._context.ids), report)
        if self._context.dry_run:
            ids = [one.pk for one, _ in summaries]
            present = Condensation.objects.in_scope(self._context.scope).filter(pk__in=ids).count()
            report.counts.update({NEW: len(summaries) - present, PRESENT: present})
            return
        new, present, left_out = take_over_summaries(self._context.scope, summaries)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_quarantine(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        origins = {}

        def read(line: dict[str, Any]) -> QuarantinedItem:
            item = rows.read_item(line, self._context.ids)
            origins[item.pk] = to_uuid(line["id"])
            return item

        items = self._context.read(lines, read, report)
        brought = [BroughtMemory(origins[one.pk], one.session, one.speaker, one.created_at) for one in items]
        erased = self._context.erased.list_erased(brought, [one.pk for one in items])
        kept = [one for one in items if not {one.pk, origins[one.pk]} & erased]
        report.counts[ERASED] += len(items) - len(kept)
        if self._context.dry_run:
            present = len(find_quarantined(self._context.scope, kept))
            report.counts.update({NEW: len(kept) - present, PRESENT: present})
            return
        new = take_over_quarantine(self._context.scope, kept, now=now)
        report.counts.update({NEW: new, PRESENT: len(kept) - new})

    def _load_audit(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        """Record events of the file as new events about them, because the past of this server's log cannot be
        changed."""
        events = self._context.read(lines, rows.read_event, report)
        told = AuditLog.objects.in_scope(self._context.scope).filter(event_type=AuditEvent.CUBE_EVENT)
        gate = in_force(self._context.scope.namespace_id).gate
        known = set(told.filter(subject__in=[one["id"] for one in events]).values_list("subject", flat=True))
        new = [
            one
            for one in events
            if one["id"] not in known and judge_fields({"details": one["details"]}, policy=gate).decision.lets_in
        ]
        if not self._context.dry_run:
            audit.record_many(
                [
                    audit.fields(
                        self._context.scope,
                        AuditEvent.CUBE_EVENT,
                        session=one["session"],
                        subject=one["id"],
                        details={"event": {**one}},
                        now=now,
                    )
                    for one in new
                ]
            )
        report.counts.update({NEW: len(new), PRESENT: len(known), LEFT_OUT: len(events) - len(new) - len(known)})

    def _load_policies(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        """Load the version in force as the namespace's policy. Former versions are loaded too if the namespace never
        had its own policy, the sender is known, and all of them come at once."""
        manifest = self._context.reader.manifest
        versions = self._context.read(lines, lambda line: rows.read_policy(line, self._context.ids), report)
        before = governing(self._context.scope.namespace_id)
        own = NamespacePolicy.objects.in_scope(self._context.scope)
        known = set(own.filter(version__in=[one.version for one in versions]).values_list("version", "updated_at"))
        present = sum((one.version, one.updated_at) in known for one in versions)
        newest = next((one for one in versions if one.version == manifest.policy), None)
        if newest is None or (newest.version, newest.updated_at) in known:
            report.counts.update({PRESENT: present, LEFT_OUT: len(versions) - present})
            return
        wanted = nest({key: value for key, value in newest.overrides.items() if key in BY_KEY})
        whole = self._context.reader.is_trusted and [one.version for one in versions] == [
            *range(1, manifest.policy + 1)
        ]
        try:
            with transaction.atomic():
                if self._context.dry_run:
                    check_overrides(wanted, namespace_id=self._context.scope.namespace_id)
                    taken = len(versions) if whole and not before.version else 1
                elif whole and take_over_history(self._context.scope, versions, reason=_POLICY_REASON, now=now):
                    taken = len(versions)
                else:
                    after = put_policy(self._context.scope, wanted=wanted, reason=_POLICY_REASON, now=now)
                    taken = int(after.version != before.version)
                    present += 1 - taken
            report.counts.update({NEW: taken, PRESENT: present, LEFT_OUT: len(versions) - taken - present})
        except InvalidInput as refusal:
            report.counts.update({PRESENT: present, LEFT_OUT: len(versions) - present})
            report.faults.append({"place": "policy", "reason": refusal.message[:200]})


def store_batch(loader: CubeLoader, step: str, batch: Lines, *, now: datetime, transact: Transact) -> None:
    """Load a batch: `transact` gets the work and its lines, runs it in a transaction and records the result.

    Lines that contradict each other, or data stored meanwhile, are found by halving the batch, and left out. Raises
    NamespaceGone.
    """
    try:
        transact(lambda: loader.load_batch(step, batch, now=now), batch)
        return
    except (IntegrityError, DataError) as error:
        if lacks_namespace(error):
            raise NamespaceGone from error
        if len(batch) == 1:
            fault = {"place": f"line {batch[0][0]}", "reason": "it contradicts another line, or what is here"}
            transact(lambda: BatchReport(Counter({UNREADABLE: 1}), faults=[fault]), batch)
            return
    half = len(batch) // 2
    store_batch(loader, step, batch[:half], now=now, transact=transact)
    store_batch(loader, step, batch[half:], now=now, transact=transact)


def in_batches(reader: CubeReader, step: str, *, after: int) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """Yield batches of the lines that a step reads, after the first `after`. Raises UnreadableImport."""
    return reader.batches(part_of(step), after=after, most=BATCH)
