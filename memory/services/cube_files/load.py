"""Loads the parts of a cube's file, step by step and batch by batch, through the services that own what they bring.

Each batch is one transaction with the note how far the load is. Everything passes the gate; what was erased stays so.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.db import DataError, IntegrityError, transaction
from django.db.models import QuerySet

from memory import audit
from memory.enums import AuditEvent, CubeIds
from memory.errors import InvalidInput, NamespaceGone
from memory.gate.fields import judge_fields
from memory.governance.policy import nest
from memory.models import (
    AuditLog,
    Condensation,
    Document,
    DocumentChunk,
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
from memory.services.cube_files.load_options import LoadOptions, part_of
from memory.services.cube_files.rows import IdMap, ReadMemory, UnreadableLine
from memory.services.entities.take_over import mark_documents_read, take_over_mentions, take_over_names
from memory.services.erasure.erased_before import BroughtMemory, ErasedBefore
from memory.services.ingestion.documents_take_over import take_over_documents
from memory.services.ingestion.take_over import (
    Arrival,
    count_outcomes,
    decide,
    find_equals,
    find_model,
    take_over,
    take_over_ends,
    take_over_quarantine,
)
from memory.services.memories.take_over import (
    take_over_links,
    take_over_opinions,
    take_over_pairs,
    take_over_retired,
    take_over_upkeep,
    take_over_versions,
)
from memory.services.summaries.take_over import take_over_summaries
from memory.services.tenancy.policy import check_overrides, governing, in_force, put_policy, take_over_history
from memory.services.tenancy.procedures import take_over_procedures
from memory.types import Scope

Value = TypeVar("Value")
# Rows that join two memories.
Join = TypeVar("Join", bound=MemoryLink | UnsurePair)
Lines = Sequence[tuple[int, dict[str, Any]]]

BATCH = 250
LISTED = 200
NEW, PRESENT, ERASED, LEFT_OUT, UNREADABLE = "new", "present", "erased", "left_out", "unreadable"
# What became of the legal holds that memories bring, beside the parts.
HOLDS = "legal_holds"
_POLICY_REASON = "Loaded with a cube's file."


@dataclass(slots=True)
class BatchReport:
    """What became of a batch's lines: how many had which outcome, and the first of what is worth telling. `holds`: the
    same of the legal holds that they bring.
    """

    counts: Counter[str] = field(default_factory=Counter)
    holds: Counter[str] = field(default_factory=Counter)
    listed: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, str]] = field(default_factory=list)


Transact = Callable[[Callable[[], BatchReport], Lines], None]


class CubeLoader:
    """Loads batches of one file into one namespace; with `dry_run` it says only what it would do."""

    def __init__(self, scope: Scope, reader: CubeReader, options: LoadOptions, *, ids: CubeIds, dry_run: bool) -> None:
        self._scope = scope
        self._reader = reader
        self._options = options
        self._dry_run = dry_run
        self._ids = IdMap(scope, renew=ids == CubeIds.NEW)
        manifest = reader.manifest
        origin = manifest.namespace_id if reader.is_of_this_server else None
        self._erased = ErasedBefore(scope, origin=origin)
        self._takes_holds = options.holds and reader.is_trusted
        model = manifest.model if reader.is_trusted else None
        self._model_id = find_model(**model) if model else None
        self._dimensions = int(model["dimensions"]) if model and self._model_id is not None else None

    def load_batch(self, step: str, lines: Lines, *, now: datetime) -> BatchReport:
        """Loads lines of the part that a step reads, each with its number; inside the caller's transaction."""
        report = BatchReport()
        getattr(self, f"_load_{step}")(lines, report, now)
        return report

    def _read(self, lines: Lines, read: Callable[[dict[str, Any]], Value], report: BatchReport) -> list[Value]:
        found = []
        for number, line in lines:
            try:
                rows.check_line(line)
                found.append(read(line))
            except UnreadableLine as fault:
                report.counts[UNREADABLE] += 1
                report.faults.append({"place": f"line {number}", "reason": str(fault)[:200]})
        return found

    def _load_documents(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        named = {}

        def read(line: dict[str, Any]) -> Document:
            document = rows.read_document(line, self._ids)
            named[document.id] = (line.get("id"), line.get("named") is True)
            return document

        documents = self._read(lines, read, report)
        since = {rows.to_uuid(named[one.id][0]): one.updated_at for one in documents}
        since |= {one.id: one.updated_at for one in documents}
        erased = self._erased.list_documents(since)
        kept = [one for one in documents if not {one.id, rows.to_uuid(named[one.id][0])} & erased]
        report.counts[ERASED] += len(documents) - len(kept)
        new, present, left_out = take_over_documents(self._scope, kept, dry_run=self._dry_run, now=now)
        report.counts.update({NEW: len(new), PRESENT: present, LEFT_OUT: left_out})
        if not self._dry_run:
            mark_documents_read(self._scope, [(one.id, one.version) for one in new if named[one.id][1]])

    def _load_names(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        names = self._read(lines, lambda line: rows.read_name(line, self._ids), report)
        if self._dry_run:
            keys = {alias.key for alias, _, _ in names}
            known = set(EntityAlias.objects.in_scope(self._scope).filter(key__in=keys).values_list("key", "variant"))
            present = sum((alias.key, alias.variant) in known for alias, _, _ in names)
            report.counts.update({NEW: len(names) - present, PRESENT: present})
            return
        new, present, left_out = take_over_names(self._scope, names)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_memories(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        found = self._read(lines, lambda line: rows.read_memory(line, self._ids, dimensions=self._dimensions), report)
        found = self._without_erased(found, report)
        found = self._without_lost_chunks(found, report)
        arrivals = [one.arriving for one in found]
        held = {one.arriving.memory.pk for one in found if one.upkeep is not None and one.upkeep.legal_hold}
        decide(self._scope, arrivals)
        if not self._dry_run:
            stored = {one.memory.pk for one in take_over(self._scope, arrivals, model_id=self._model_id, now=now)}
            self._store_histories([one for one in found if one.arriving.memory.pk in stored])
        report.counts.update(count_outcomes(arrivals))
        let_in = {one.memory.pk for one in arrivals if one.outcome in (Arrival.NEW, Arrival.REDACTED)}
        report.holds[NEW if self._takes_holds else LEFT_OUT] += len(held & let_in)
        for one in arrivals:
            if one.outcome not in (Arrival.NEW, Arrival.PRESENT) or self._dry_run:
                why = one.judgement.reasons[0].rule if one.judgement and one.judgement.reasons else ""
                report.listed.append(_tell(str(one.origin), one.memory.session, one.outcome.value, why))

    def _without_erased(self, found: list[ReadMemory], report: BatchReport) -> list[ReadMemory]:
        brought = [
            BroughtMemory(one.arriving.origin, memory.session, memory.speaker, memory.created_at)
            for one in found
            for memory in [one.arriving.memory]
        ]
        erased = self._erased.list_erased(brought, {one.arriving.memory.pk for one in found})
        kept = []
        for one in found:
            if {one.arriving.origin, one.arriving.memory.pk} & erased:
                report.counts[ERASED] += 1
                report.listed.append(_tell(str(one.arriving.origin), one.arriving.memory.session, ERASED, ""))
            else:
                kept.append(one)
        return kept

    def _without_lost_chunks(self, found: list[ReadMemory], report: BatchReport) -> list[ReadMemory]:
        """Without the chunks of documents that are not here, or here in another version."""
        if self._dry_run:
            return found
        wanted = {one.arriving.chunk.document_key for one in found if one.arriving.chunk is not None}
        if not wanted:
            return found
        versions = dict(Document.objects.in_scope(self._scope).filter(id__in=wanted).values_list("id", "version"))
        places = {
            (key, index): memory_id
            for key, index, memory_id in DocumentChunk.objects.in_scope(self._scope)
            .filter(document_key__in=wanted)
            .values_list("document_key", "index", "memory_id")
        }
        kept = [one for one in found if _has_place(one, versions, places)]
        report.counts[LEFT_OUT] += len(found) - len(kept)
        return kept

    def _store_histories(self, found: Sequence[ReadMemory]) -> None:
        roles = {one.arriving.memory.pk: str(one.arriving.memory.role) for one in found}
        take_over_versions(self._scope, [version for one in found for version in one.versions], role_of=roles)
        take_over_retired(self._scope, [statement for one in found for statement in one.retired])
        take_over_opinions(self._scope, [opinion for one in found for opinion in one.feedback])
        take_over_upkeep([one.upkeep for one in found if one.upkeep is not None], holds=self._takes_holds)
        for one in found:
            # Places in a text that the gate has changed are others.
            one.names.read = one.names.read and not one.arriving.changed
            one.names.turn = one.arriving.memory.turn
        chunks = [one for one in found if one.arriving.chunk is not None]
        take_over_mentions(self._scope, [one.names for one in found if one.arriving.chunk is None])
        for one in chunks:
            one.names.read = not one.arriving.changed
        take_over_mentions(self._scope, [one.names for one in chunks])

    def _load_sessions(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        """Counts them: memories make them, and a session of which none comes in is none here."""
        sessions = self._read(lines, lambda line: rows.read_session(line, self._ids), report)
        names = [one.name for one in sessions]
        present = Session.objects.in_scope(self._scope).filter(name__in=names).count()
        report.counts.update({NEW: len(sessions) - present, PRESENT: present})

    def _load_session_ends(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        if self._dry_run:
            return
        # What cannot be read was counted with the sessions.
        sessions = self._read(lines, lambda line: rows.read_session(line, self._ids), BatchReport())
        left_out = len(sessions) - take_over_ends(self._scope, sessions)
        report.counts.update({NEW: -left_out, LEFT_OUT: left_out})

    def _load_links(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        links = self._read_ends(lines, rows.read_link, ("memory_id", "other_id"), report)
        if self._dry_run:
            self._count_known(MemoryLink.objects.in_scope(self._scope), links, report)
            return
        new, left_out = take_over_links(self._scope, links)
        report.counts.update({NEW: new, LEFT_OUT: left_out, PRESENT: len(links) - new - left_out})

    def _load_pairs(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        pairs = self._read_ends(lines, rows.read_pair, ("newer_id", "older_id"), report)
        if self._dry_run:
            self._count_known(UnsurePair.objects.in_scope(self._scope), pairs, report)
            return
        new, left_out = take_over_pairs(self._scope, pairs, verdicts=self._reader.is_trusted, now=now)
        report.counts.update({NEW: new, LEFT_OUT: left_out, PRESENT: len(pairs) - new - left_out})

    def _read_ends(
        self,
        lines: Lines,
        read: Callable[[dict[str, Any], IdMap], Join],
        ends: tuple[str, str],
        report: BatchReport,
    ) -> list[Join]:
        """Rows that name two memories in their fields `ends`; one that is here under another id is named by that."""
        origins: dict[uuid.UUID, tuple[uuid.UUID, ...]] = {}

        def read_line(line: dict[str, Any]) -> Join:
            row = read(line, self._ids)
            origins[row.id] = tuple(rows.to_uuid(line[name]) for name in ends)
            return row

        found = self._read(lines, read_line, report)
        equals = find_equals(self._scope, {origin for both in origins.values() for origin in both})
        for row in found:
            for name, origin in zip(ends, origins[row.id], strict=True):
                setattr(row, name, equals.get(origin, getattr(row, name)))
        return found

    def _count_known(self, here: QuerySet, found: Sequence[Join], report: BatchReport) -> None:
        known = here.filter(id__in=[one.id for one in found]).count()
        report.counts.update({NEW: len(found) - known, PRESENT: known})

    def _load_procedures(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        entries = self._read(lines, lambda line: rows.read_procedure(line, self._ids), report)
        new, present, left_out = take_over_procedures(self._scope, entries, dry_run=self._dry_run)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_summaries(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        summaries = self._read(lines, lambda line: rows.read_summary(line, self._ids), report)
        if self._dry_run:
            ids = [one.pk for one, _ in summaries]
            present = Condensation.objects.in_scope(self._scope).filter(pk__in=ids).count()
            report.counts.update({NEW: len(summaries) - present, PRESENT: present})
            return
        new, present, left_out = take_over_summaries(self._scope, summaries)
        report.counts.update({NEW: new, PRESENT: present, LEFT_OUT: left_out})

    def _load_quarantine(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        origins = {}

        def read(line: dict[str, Any]) -> QuarantinedItem:
            item = rows.read_item(line, self._ids)
            origins[item.pk] = rows.to_uuid(line["id"])
            return item

        items = self._read(lines, read, report)
        brought = [BroughtMemory(origins[one.pk], one.session, one.speaker, one.created_at) for one in items]
        erased = self._erased.list_erased(brought, [one.pk for one in items])
        kept = [one for one in items if not {one.pk, origins[one.pk]} & erased]
        report.counts[ERASED] += len(items) - len(kept)
        if self._dry_run:
            ids = [one.pk for one in kept]
            present = QuarantinedItem.objects.in_scope(self._scope).filter(id__in=ids).count()
            report.counts.update({NEW: len(kept) - present, PRESENT: present})
            return
        new = take_over_quarantine(self._scope, kept, now=now)
        report.counts.update({NEW: new, PRESENT: len(kept) - new})

    def _load_audit(self, lines: Lines, report: BatchReport, now: datetime) -> None:
        """Events of the file become events that tell of them: nobody writes into the past of this server's log."""
        events = self._read(lines, rows.read_event, report)
        told = AuditLog.objects.in_scope(self._scope).filter(event_type=AuditEvent.CUBE_EVENT)
        gate = in_force(self._scope.namespace_id).gate
        known = set(told.filter(subject__in=[one["id"] for one in events]).values_list("subject", flat=True))
        new = [
            one
            for one in events
            if one["id"] not in known and judge_fields({"details": one["details"]}, policy=gate).decision.lets_in
        ]
        if not self._dry_run:
            audit.record_many(
                [
                    audit.fields(
                        self._scope,
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
        """The version in force becomes the namespace's, with all before it where the namespace never had a policy of
        its own, the sender is known and all of them come at once. Else former ones are in the file only.
        """
        manifest = self._reader.manifest
        versions = self._read(lines, lambda line: rows.read_policy(line, self._ids), report)
        before = governing(self._scope.namespace_id)
        own = NamespacePolicy.objects.in_scope(self._scope)
        known = set(own.filter(version__in=[one.version for one in versions]).values_list("version", "updated_at"))
        present = sum((one.version, one.updated_at) in known for one in versions)
        newest = next((one for one in versions if one.version == manifest.policy), None)
        if newest is None or (newest.version, newest.updated_at) in known:
            report.counts.update({PRESENT: present, LEFT_OUT: len(versions) - present})
            return
        wanted = nest({key: value for key, value in newest.overrides.items() if key in BY_KEY})
        whole = self._reader.is_trusted and [one.version for one in versions] == [*range(1, manifest.policy + 1)]
        try:
            with transaction.atomic():
                if self._dry_run:
                    check_overrides(wanted, namespace_id=self._scope.namespace_id)
                    taken = len(versions) if whole and not before.version else 1
                elif whole and take_over_history(self._scope, versions, reason=_POLICY_REASON, now=now):
                    taken = len(versions)
                else:
                    after = put_policy(self._scope, wanted=wanted, reason=_POLICY_REASON, now=now)
                    taken = int(after.version != before.version)
                    present += 1 - taken
            report.counts.update({NEW: taken, PRESENT: present, LEFT_OUT: len(versions) - taken - present})
        except InvalidInput as refusal:
            report.counts.update({PRESENT: present, LEFT_OUT: len(versions) - present})
            report.faults.append({"place": "policy", "reason": refusal.message[:200]})


def store_batch(loader: CubeLoader, step: str, batch: Lines, *, now: datetime, transact: Transact) -> None:
    """Loads a batch: `transact` is given the work and its lines, does it in a transaction and notes what came of it.

    Lines that contradict each other, or what is stored meanwhile, are found by halving the batch, and left out. Raises
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
    """Lines of the part that a step reads, behind the first `after`, up to BATCH at a time. Raises UnreadableImport."""
    return reader.batches(part_of(step), after=after, most=BATCH)


def _tell(identity: str, session: str, outcome: str, why: str) -> dict[str, Any]:
    return {"id": identity, "session": session, "outcome": outcome, "rule": why}


def _has_place(
    read: ReadMemory, versions: Mapping[uuid.UUID, int], places: Mapping[tuple[uuid.UUID, int], uuid.UUID]
) -> bool:
    """Whether a memory is no chunk, or one of a document in the version that is here, at a place that is its own."""
    chunk = read.arriving.chunk
    if chunk is None:
        return True
    own = places.get((chunk.document_key, chunk.index), chunk.memory_id)
    return versions.get(chunk.document_key) == read.document_version and own == chunk.memory_id
