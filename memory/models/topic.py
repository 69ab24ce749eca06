"""The tree of a namespace: its sessions, their topics, and the memories of each topic."""

from __future__ import annotations

import uuid
from typing import Self

from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from memory.enums import TopicLevel
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow
from memory.models.search import EmbeddingModel


class TopicTree(models.Model):
    """Represents the tree of a namespace, made of the vectors of one model, and the changes that it has taken in.

    `version` changes whenever the tree is rebuilt. `seen`: the snapshot up to which changes were taken in, in
    PostgreSQL's text form; empty while the tree is being built from all memories. `looked_at`: when the changes since
    then were last looked up.
    """

    namespace = models.OneToOneField(Namespace, models.CASCADE, primary_key=True, related_name="+", db_constraint=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    version = models.UUIDField(default=new_id)
    seen = models.TextField(blank=True, default="")
    looked_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id} by {self.model_id}"


class TopicNode(ScopedRow):
    """Represents a node of the tree: a session or, with the session's node as `parent`, one of its topics.

    A node stores no words. `label_places` and `summary_places` refer to words in its memories, each as [memory id,
    start, end] in characters, so that words which are erased or changed disappear from the node as well. `centroid`:
    for a topic, the mean of its memories' vectors of length 1; None while it must be computed again. `size`: the number
    of memories at that time. `stale`: the memories have changed since the places were chosen.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    parent = models.UUIDField(null=True, blank=True, help_text="The session's node; empty: it is one")
    level = models.CharField(max_length=8, choices=TopicLevel.choices)
    session = models.CharField(max_length=128, db_collation="C")
    size = models.IntegerField(default=0)
    centroid = HalfVectorField(null=True, editable=False)
    label_places = models.JSONField(default=list)
    summary_places = models.JSONField(default=list)
    stale = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "session"], condition=models.Q(level=TopicLevel.SESSION), name="topic_of_session"
            ),
        ]
        indexes = [
            models.Index(fields=["namespace", "parent", "id"], name="topic_children"),
            models.Index(fields=["namespace", "level", "id"], name="topic_stale", condition=models.Q(stale=True)),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.id}"


class TopicMemberQuerySet(ScopedQuerySet["TopicMember"]):
    def below(self, node: uuid.UUID) -> Self:
        """Selects the members of a topic, or of all topics of a session, within each namespace."""
        topics = TopicNode.objects.filter(
            models.Q(id=node) | models.Q(parent=node), namespace_id=models.OuterRef("namespace_id")
        )
        return self.filter(topic__in=topics.values("id"))


class TopicMember(models.Model):
    """Links a memory to its topic. A memory without a vector, or that no longer holds, has none.

    `content_hash` is that of the text by which the memory was placed.
    """

    pk = models.CompositePrimaryKey("namespace_id", "memory_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    topic = models.UUIDField()
    content_hash = models.BinaryField(max_length=32)

    objects = TopicMemberQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["namespace", "topic", "memory"], name="topicmember_of_topic")]

    def __str__(self) -> str:
        return f"{self.memory_id} in {self.topic}"
