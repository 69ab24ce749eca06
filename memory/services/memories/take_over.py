"""Restores what belongs to memories from a cube's file: former versions, retired statements, opinions, use, links and
unsure pairs. Ids and times are kept. All functions run inside the caller's transaction.

Former texts pass the gate as other texts do; those that it refuses are not kept.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memory.gate.fields import judge_fields
from memory.gate.judge import judge
from memory.models import (
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryUpkeep,
    MemoryVersion,
    RetiredStatement,
    UnsurePair,
)
from memory.services.memories.unsure_pairs import MOST_OF_A_MEMORY, texts_hash
from memory.services.tenancy.policy import in_force
from memory.types import Scope


def take_over_versions(scope: Scope, versions: Sequence[MemoryVersion], *, role_of: dict[uuid.UUID, str]) -> int:
    """Store the former versions that the gate lets in; return how many it refuses. `role_of`: the role by memory id."""
    gate = replace(in_force(scope.namespace_id).gate, worth_threshold=0.0)
    kept = []
    for version in versions:
        role, speaker = role_of[version.memory_id], version.speaker or ""
        judgement = judge(version.text, role=role, speaker=speaker, policy=gate)
        told = {"metadata": version.metadata, "reason": version.reason, "actor": version.actor}
        fields = judge_fields(told, policy=gate)
        if judgement.decision.lets_in and fields.decision.lets_in:
            version.text, version.metadata = judgement.text, fields.values["metadata"]
            version.reason = fields.values["reason"]
            kept.append(version)
    MemoryVersion.objects.bulk_create(kept, batch_size=500, ignore_conflicts=True)
    return len(versions) - len(kept)


def take_over_retired(scope: Scope, statements: Sequence[RetiredStatement]) -> None:
    """Store the retired statements of memories; a reason that the gate refuses is left empty."""
    gate = in_force(scope.namespace_id).gate
    for one in statements:
        verdict = judge_fields({"reason": one.reason}, policy=gate)
        one.reason = verdict.values["reason"] if verdict.decision.lets_in else ""
    RetiredStatement.objects.bulk_create(statements, batch_size=500, ignore_conflicts=True)


def take_over_opinions(scope: Scope, opinions: Sequence[MemoryFeedback]) -> int:
    """Store the opinions whose notes the gate lets in; return how many it refuses."""
    gate = in_force(scope.namespace_id).gate
    kept = []
    for opinion in opinions:
        verdict = judge_fields({"note": opinion.note, "actor": opinion.actor}, policy=gate)
        if verdict.decision.lets_in:
            opinion.note = verdict.values["note"]
            kept.append(opinion)
    MemoryFeedback.objects.bulk_create(kept, batch_size=500, ignore_conflicts=True)
    return len(opinions) - len(kept)


def take_over_upkeep(rows: Sequence[MemoryUpkeep], *, holds: bool) -> None:
    """Store how memories were used and what they are exempt from; legal holds only if `holds`."""
    for row in rows:
        row.legal_hold = row.legal_hold and holds
    MemoryUpkeep.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


def take_over_links(scope: Scope, links: Sequence[MemoryLink]) -> tuple[int, int]:
    """Store the links whose two memories exist; return how many are new, and how many are left out because an end is
    missing or the gate refuses the reason."""
    wanted = {one.memory_id for one in links} | {one.other_id for one in links}
    there: Collection[uuid.UUID] = set(
        Memory.objects.in_scope(scope).filter(pk__in=wanted).values_list("pk", flat=True)
    )
    gate = in_force(scope.namespace_id).gate
    ends = [one for one in links if one.memory_id in there and one.other_id in there]
    kept = [
        one for one in ends if judge_fields({"reason": one.reason, "actor": one.actor}, policy=gate).decision.lets_in
    ]
    known = set(
        MemoryLink.objects.in_scope(scope)
        .filter(memory_id__in={one.memory_id for one in kept})
        .values_list("memory_id", "other_id", "kind")
    )
    new = [one for one in kept if (one.memory_id, one.other_id, one.kind) not in known]
    MemoryLink.objects.bulk_create(new, batch_size=500, ignore_conflicts=True)
    return len(new), len(links) - len(kept)


def take_over_pairs(scope: Scope, pairs: Sequence[UnsurePair], *, verdicts: bool, now: datetime) -> tuple[int, int]:
    """Store the pairs of existing memories that still say what they said when the pair was stored; return how many are
    new and how many are left out.

    Without `verdicts` (from an unknown sender), the language model of this server is asked again. At most
    MOST_OF_A_MEMORY pairs of one newer memory wait, because each costs a question to the model.
    """
    rows = UnsurePair.objects.in_scope(scope)
    newer = {one.newer_id for one in pairs}
    known = set(rows.filter(newer_id__in=newer).values_list("newer_id", "older_id", "start"))
    waiting = Counter(rows.filter(newer_id__in=newer, verdict="").values_list("newer_id", flat=True))
    there = {
        memory.pk: memory
        for memory in Memory.objects.in_scope(scope)
        .filter(pk__in=newer | {one.older_id for one in pairs})
        .only("text", "content_hash")
    }
    gate = in_force(scope.namespace_id).gate
    new: list[UnsurePair] = []
    present = 0
    for one in pairs:
        if (one.newer_id, one.older_id, one.start) in known:
            present += 1
            continue
        if not verdicts:
            one.verdict, one.explanation, one.judge, one.judged_at = "", "", "", None
            one.attempts, one.due_at = 0, now
        told = {"reason": one.reason, "explanation": one.explanation, "judge": one.judge}
        if not _holds_here(one, there) or not judge_fields(told, policy=gate).decision.lets_in:
            continue
        if not one.verdict:
            if waiting[one.newer_id] >= MOST_OF_A_MEMORY:
                continue
            waiting[one.newer_id] += 1
        known.add((one.newer_id, one.older_id, one.start))
        new.append(one)
    UnsurePair.objects.bulk_create(new, batch_size=500, ignore_conflicts=True)
    return len(new), len(pairs) - len(new) - present


def _holds_here(pair: UnsurePair, there: dict[uuid.UUID, Memory]) -> bool:
    """Return whether both memories exist and say what they said when the pair was stored."""
    newer, older = there.get(pair.newer_id), there.get(pair.older_id)
    if newer is None or older is None or newer.pk == older.pk:
        return False
    within = pair.end <= len(older.text) and pair.by_end <= len(newer.text)
    return within and bytes(pair.texts_hash) == texts_hash(older, newer)
