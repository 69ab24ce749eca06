"""Memories and their earlier versions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from memory.enums import MemoryKind, MemoryState, Review, Role, Tier
from memory.kinds import EPISODE_BELOW, SESSION_PREFIX
from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow
from memory.text.utterances import live_text


def content_hash(text: str) -> bytes:
    """Returns the SHA-256 of a memory's text, by which equal texts are found."""
    return hashlib.sha256(text.encode()).digest()


def spans_of(flat: Sequence[int]) -> list[tuple[int, int]]:
    """Returns spans (start, end) from a column that holds them as a flat array."""
    return list(zip(flat[::2], flat[1::2], strict=True))


class MemoryQuerySet(ScopedQuerySet["Memory"]):
    def active(self) -> Self:
        """Selects the memories that retrieval may return."""
        return self.filter(state=MemoryState.ACTIVE)

    def awaiting_vector(self) -> Self:
        """Selects the memories that are found by their words only, until the worker has embedded them."""
        return self.active().filter(embedded=False)

    def derived(self) -> Self:
        """Selects facts and preferences, which were read in turns."""
        return self.filter(turn__lt=0).exclude(session__startswith=SESSION_PREFIX)

    def facts(self) -> Self:
        """Selects facts, which a language model read in turns."""
        return self.derived().filter(is_preference=False)

    def preferences(self) -> Self:
        """Selects preferences: what people like, avoid or usually do, according to turns."""
        return self.filter(is_preference=True)

    def of_kind(self, kind: str) -> Self:
        """Selects the memories of a kind, as `memory.kinds.kind_of` tells it."""
        if kind == MemoryKind.PREFERENCE:
            return self.preferences()
        if kind == MemoryKind.FACT:
            return self.facts()
        if kind == MemoryKind.DOCUMENT:
            return self.filter(turn__lt=0, session__startswith=SESSION_PREFIX)
        turns = self.filter(turn__gte=0)
        if kind == MemoryKind.EPISODE:
            return turns.filter(importance__lt=EPISODE_BELOW)
        said = turns.filter(importance__gte=EPISODE_BELOW)
        return said.filter(role=Role.USER) if kind == MemoryKind.SAID else said.exclude(role=Role.USER)

    def in_session(self, session: str) -> Self:
        return self.filter(session=session)


class Memory(ScopedRow):
    """Represents a turn, a chunk of a document, or a fact or preference that was read in turns.

    `occurred_at`: when it happened; `created_at`: when MemOS learned it. `turn`: its place in the session, without gaps
    and in commit order; below 0 for chunks, facts and preferences. `is_preference` distinguishes a preference from a
    fact. `context`: the headings of a chunk, which are embedded and indexed with the text but not part of it. `terms`:
    its distinct index terms; `length` counts them with repeats.

    A memory holds from `valid_from` (None: from `occurred_at`) until before `valid_to` (None: it still holds), both in
    the time that it tells of. A superseded memory keeps its text; `superseded_at` is when MemOS learned that it is
    over. `revision` counts all changes. `embedded`: its vectors under the active embedding model are stored; code that
    stores or removes vectors sets it in the same transaction.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="memories", db_index=False)
    session = models.CharField(max_length=128, db_collation="C")
    turn = models.IntegerField()
    role = models.CharField(max_length=8, choices=Role.choices)
    speaker = models.CharField(max_length=128, blank=True, default="")
    text = models.TextField()
    context = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)
    metadata = models.JSONField(default=dict, blank=True)
    importance = models.FloatField(default=0.5)
    tier = models.CharField(max_length=2, choices=Tier.choices, default=Tier.L2)
    state = models.CharField(max_length=12, choices=MemoryState.choices, default=MemoryState.ACTIVE)
    occurred_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    content_hash = models.BinaryField(max_length=32)
    terms = ArrayField(models.CharField(max_length=64), default=list)
    length = models.IntegerField(default=0)
    tokens = models.IntegerField(default=0)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    superseded_by = models.UUIDField(null=True, blank=True, help_text="It may be gone: an id outlives its memory here")
    superseded_at = models.DateTimeField(null=True, blank=True)
    retired_spans = ArrayField(
        models.IntegerField(),
        default=list,
        db_default=models.Value([], output_field=ArrayField(models.IntegerField())),
        editable=False,
        help_text="Start and end, in characters, of each statement that holds no longer (RetiredStatement says why)",
    )
    pinned = models.BooleanField(default=False, db_default=False, help_text="No sweep takes it away")
    review = models.CharField(max_length=16, choices=Review.choices, blank=True, default="", db_default="")
    revision = models.IntegerField(default=1, db_default=1)
    embedded = models.BooleanField(default=False, db_default=False, editable=False)
    is_preference = models.BooleanField(default=False, db_default=False, editable=False)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "session", "turn"], name="memory_place_in_session"),
            models.CheckConstraint(
                condition=models.Q(importance__gte=0, importance__lte=1), name="memory_importance_0_1"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "occurred_at"], name="memory_when"),
            models.Index(fields=["namespace", "content_hash"], name="memory_same_text"),
            # The memories of a session in order of occurrence, to find the turns around a turn.
            models.Index(fields=["namespace", "session", "occurred_at", "turn"], name="memory_in_session_by_time"),
            models.Index(
                fields=["namespace", "-id"], name="memory_archived", condition=models.Q(state=MemoryState.ARCHIVED)
            ),
            # The namespace does not lead this index, because staff list the archived memories of all namespaces.
            models.Index(fields=["-id"], name="memory_archived_newest", condition=models.Q(state=MemoryState.ARCHIVED)),
            models.Index(
                fields=["namespace", "-id"],
                name="memory_facts",
                condition=models.Q(turn__lt=0) & ~models.Q(session__startswith=SESSION_PREFIX),
            ),
            models.Index(
                fields=["namespace", "speaker"], name="memory_preferences", condition=models.Q(is_preference=True)
            ),
            models.Index(fields=["namespace", "-id"], name="memory_pinned", condition=models.Q(pinned=True)),
            models.Index(fields=["namespace", "-id"], name="memory_to_review", condition=~models.Q(review="")),
            models.Index(
                fields=["namespace", "superseded_by"],
                name="memory_by_successor",
                condition=models.Q(superseded_by__isnull=False),
            ),
            # The namespace does not lead this index, because staff list the superseded memories of all namespaces.
            models.Index(
                fields=["-superseded_at"],
                name="memory_superseded_newest",
                condition=models.Q(superseded_by__isnull=False),
            ),
            # The namespace does not lead this index, because the worker takes the oldest memories of all namespaces.
            models.Index(
                fields=["id"],
                include=["namespace", "state"],
                name="memory_without_vector",
                condition=models.Q(embedded=False),
            ),
            # The namespace does not lead this index, because GIN indexes numbers only with the extension btree_gin.
            # Only the few memories with tags are in it; those of other tenants with the same tag are filtered out by
            # the row.
            GinIndex(
                OpClass(KeyTransform("tags", "metadata"), name="jsonb_path_ops"),
                name="memory_tagged",
                condition=models.Q(metadata__has_key="tags"),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def live(self) -> str:
        """Returns the text without the statements that no longer hold."""
        return live_text(self.text, spans_of(self.retired_spans))

    @property
    def holds_from(self) -> datetime:
        """Returns the time from which on it holds."""
        return self.valid_from or self.occurred_at


class MemoryVersion(ScopedRow):
    """Holds the content of a memory before a change.

    `revision` is the memory's revision with that content. `revision`, `speaker` and `occurred_at` are null in versions
    from before these columns existed.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="versions", db_constraint=False, db_index=False)
    text = models.TextField()
    metadata = models.JSONField(default=dict)
    speaker = models.CharField(max_length=128, null=True)  # noqa: DJ001 - empty is a speaker that was not named
    occurred_at = models.DateTimeField(null=True)
    revision = models.IntegerField(null=True)
    reason = models.CharField(max_length=300)
    actor = models.CharField(max_length=150)
    replaced_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["namespace", "memory", "-id"], name="version_of_memory")]

    def __str__(self) -> str:
        return str(self.id)
