"""The entity layer (L3): people and things that memories mention, their names, mentions and relations.

Entities are derived from memories: the database deletes mentions and relations with their memory, and `active` repeats
whether the memory is active. A name (`EntityAlias`) stands for one entity at a time. Merging and splitting move names,
never mentions, so that both can be undone.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.enums import AliasLink, EntityKind, Predicate
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class Entity(models.Model):
    """Represents a person, place, organisation, project or thing.

    `merged_into`: the entity that its names stand for since a merge.
    """

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=12, choices=EntityKind.choices)
    merged_into = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "entities"

    def __str__(self) -> str:
        return self.name


class EntityAlias(models.Model):
    """Represents a name as memories write it.

    `key` is common to its spellings; a split makes a second name with the same key (`variant` above 0). `home`: the
    entity that was created with the name; `entity`: the one that it stands for now; `link`: the reason; `stated_in`:
    the memory that `link` rests on. `weight`: how certain `kind` is. `spoke`: whether a speaker has this name.
    `first_word` and `last_word` are set for names of several words.
    """

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    key = models.CharField(max_length=128, db_collation="C")
    variant = models.SmallIntegerField(default=0)
    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=12, choices=EntityKind.choices)
    weight = models.SmallIntegerField(default=0)
    spoke = models.BooleanField(default=False)
    first_word = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    last_word = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    home = models.UUIDField()
    entity = models.UUIDField()
    link = models.CharField(max_length=8, choices=AliasLink.choices, default=AliasLink.OWN)
    stated_in = models.UUIDField(null=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "entity aliases"
        constraints = [models.UniqueConstraint(fields=["namespace", "key", "variant"], name="entityalias_name")]
        indexes = [
            models.Index(fields=["namespace", "entity"], name="entityalias_of_entity"),
            models.Index(
                fields=["namespace", "first_word"], name="entityalias_first_word", condition=~models.Q(first_word="")
            ),
            models.Index(
                fields=["namespace", "last_word"], name="entityalias_last_word", condition=~models.Q(last_word="")
            ),
        ]

    def __str__(self) -> str:
        return self.name


class EntityMention(models.Model):
    """Represents a name in a memory's text at [start, end), in characters; the speaker's name is at [0, 0).

    `pinned`: a person decided which name it is, so indexing the memory again does not change it.
    """

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    alias = models.UUIDField()
    start = models.IntegerField()
    end = models.IntegerField()
    occurred_at = models.DateTimeField()
    active = models.BooleanField(default=True)
    pinned = models.BooleanField(default=False)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "memory", "start", "end"], name="entitymention_place")
        ]
        indexes = [
            models.Index(fields=["namespace", "alias", "-occurred_at", "-id"], name="entitymention_timeline"),
            # This index is small, because equal keys are stored once; the most mentioned names are counted in it.
            models.Index(fields=["namespace", "alias"], name="entitymention_counted", condition=models.Q(active=True)),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} [{self.start}:{self.end}]"


class EntityRelation(models.Model):
    """Represents a memory's statement that `subject` is `predicate` to `object`; both are names (aliases).

    Statements about the same entities make one edge of the graph, whose evidence is their memories. `detail` is more
    specific (sister for `family`). `valid_to` is set if the memory says that the relation is over.
    """

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subject_mention = models.UUIDField()
    object_mention = models.UUIDField()
    subject = models.UUIDField()
    object = models.UUIDField()
    predicate = models.CharField(max_length=12, choices=Predicate.choices)
    detail = models.CharField(max_length=40, blank=True, default="")
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "memory", "subject_mention", "predicate", "object_mention"],
                name="entityrelation_statement",
            )
        ]
        indexes = [
            models.Index(fields=["namespace", "subject"], name="entityrelation_subject"),
            models.Index(fields=["namespace", "object"], name="entityrelation_object"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


class EntityWatermark(models.Model):
    """Records that a session's memories up to `turn` are indexed; for chunks, `turn` is the document's version."""

    pk = models.CompositePrimaryKey("namespace_id", "session")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    session = models.CharField(max_length=128, db_collation="C")
    turn = models.IntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.session}: {self.turn}"


class EntityPending(models.Model):
    """Marks a memory below the watermark that must be indexed again: it was edited, or brought back into retrieval."""

    pk = models.CompositePrimaryKey("namespace_id", "memory_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.memory_id)
