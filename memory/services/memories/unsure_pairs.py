"""Stores pairs of statements that the rules of settling are unsure of, and a language model's verdicts about them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memory.enums import ModelPurpose, PairVerdict
from memory.governance.settling import Linked, can_leave
from memory.models import Memory, UnsurePair
from memory.models.sql import count_each
from memory.providers.llm_settling import LLMJudge, find_judge
from memory.services.memories.change import MAX_REASON_CHARS
from memory.services.tenancy.policy import in_force
from memory.types import Scope

# The model judges at most this many pairs of one newer memory, the most likely first.
MOST_OF_A_MEMORY = 5
COUNTED_AT_MOST = 10_000


def judge_of(namespace_id: int) -> LLMJudge | None:
    """Find the language model to ask in the namespace, if there is one."""
    return find_judge(in_force(namespace_id).policy.models[ModelPurpose.JUDGE])


def note(
    scope: Scope,
    newer: Memory,
    older: Mapping[uuid.UUID, Memory],
    unsure: Sequence[Linked[uuid.UUID]],
    *,
    now: datetime,
) -> None:
    """Store the pairs of `newer` that were never judged with these texts; in the transaction that locks all
    memories."""
    likely = sorted(unsure, key=lambda one: -one.decision.confidence)[:MOST_OF_A_MEMORY]
    for one in likely:
        if one.key == newer.pk:
            continue
        asked = {
            "end": one.end,
            "by_start": one.by.start,
            "by_end": one.by.end,
            "can_cut": can_leave(older[one.key].text[one.start : one.end]),
            "reason": one.decision.reason[:MAX_REASON_CHARS],
            "confidence": one.decision.confidence,
            "texts_hash": texts_hash(older[one.key], newer),
            "attempts": 0,
            "due_at": now,
            "verdict": "",
            "explanation": "",
            "judge": "",
            "created_at": now,
            "judged_at": None,
        }
        pairs = UnsurePair.objects.in_scope(scope).filter(newer_id=newer.pk, older_id=one.key, start=one.start)
        known = pairs.first()
        if known is None:
            UnsurePair.objects.create(
                namespace_id=scope.namespace_id, newer_id=newer.pk, older_id=one.key, start=one.start, **asked
            )
        elif bytes(known.texts_hash) != asked["texts_hash"] or known.verdict == PairVerdict.UNANSWERED:
            pairs.update(**asked)


def texts_hash(older: Memory, newer: Memory) -> bytes:
    """Return the SHA-256 of the content hashes of both memories."""
    return hashlib.sha256(bytes(older.content_hash) + bytes(newer.content_hash)).digest()


def list_both_hold(newer: Memory, memories: Mapping[uuid.UUID, Memory]) -> frozenset[tuple[uuid.UUID, int]]:
    """Return the statements that a language model judged to hold together with the newer memory, with these texts: each
    with its memory and where the statement begins."""
    judged = UnsurePair.objects.filter(namespace_id=newer.namespace_id, newer_id=newer.pk, older_id__in=list(memories))
    rows = judged.filter(verdict=PairVerdict.BOTH_HOLD).values_list("older_id", "start", "texts_hash")
    return frozenset(
        (older, start) for older, start, texts in rows if bytes(texts) == texts_hash(memories[older], newer)
    )


Place = tuple[uuid.UUID, uuid.UUID, int | None]


def explanations(pairs: Collection[tuple[int, uuid.UUID, uuid.UUID]]) -> dict[Place, str]:
    """Return a language model's reasons for replacements, in its own words, for `pairs` of (namespace id, older,
    newer): by (older, newer, start), and by (older, newer, None) for all of the older. A reason may quote both
    memories.
    """
    rows = UnsurePair.objects.filter(
        namespace_id__in={namespace_id for namespace_id, _, _ in pairs},
        older_id__in={older for _, older, _ in pairs},
        newer_id__in={newer for _, _, newer in pairs},
        verdict=PairVerdict.REPLACES,
    )
    found: dict[Place, str] = {}
    for row in rows:
        found[row.older_id, row.newer_id, row.start] = found[row.older_id, row.newer_id, None] = row.explanation
    return found


def in_words(explanation: str) -> str:
    """Return the language model's reason in the wording of the API."""
    return f"A language model judged: {explanation}"


def figures() -> dict[str, int]:
    """Count the waiting pairs and the pairs with each verdict, on the whole server, each up to COUNTED_AT_MOST."""
    names = {"": "waiting", **{verdict.value: verdict.value for verdict in PairVerdict}}
    rows = [UnsurePair.objects.across_namespaces().filter(verdict=verdict) for verdict in names]
    return dict(zip(names.values(), count_each(*rows, most=COUNTED_AT_MOST), strict=True))
