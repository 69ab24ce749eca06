"""The entity layer (L3): who and what memories speak of, under which names, where, and what is said between them.

Entities are derived from memories and go with them: a mention or relation is deleted with its memory by the database,
and `active` repeats whether the memory is. A name (`EntityAlias`) stands for one entity at a time; merging and
splitting move names, never mentions, so both can be undone.
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
    """A person, place, organisation, project or thing. `merged_into`: its names stand for that entity now."""

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
    """A name as memories write it. `key` is what its spellings share; a second name with the same key (`variant` above
    0) comes of a split.

    `home` is the entity that was made for it, `entity` the one it stands for now, `link` why. `weight` says how sure
    `kind` is, and `spoke` whether a speaker is called so. `stated_in` is the memory that `link` rests on. `words` are
    the first and the last word of a name of several.
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
    """A name in a memory's text at [start, end), in characters; the speaker's own stands at [0, 0).

    `pinned`: a person has said which name it is, so indexing the memory again does not change it.
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
            # Small, for all mentions of a name are one entry: what is mentioned most is counted in it.
            models.Index(fields=["namespace", "alias"], name="entitymention_counted", condition=models.Q(active=True)),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} [{self.start}:{self.end}]"


class EntityRelation(models.Model):
    """One memory's statement that `subject` is `predicate` to `object`, both names (aliases).

    Statements of the same entities make one edge of the graph; its evidence are their memories. `detail` says it more
    closely (the sister of a `family`). `valid_to` is set when the memory says that it is over.
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
    """How far a session is indexed: its memories up to `turn`. For a document's chunks, the version of the document."""

    pk = models.CompositePrimaryKey("namespace_id", "session")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    session = models.CharField(max_length=128, db_collation="C")
    turn = models.IntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.session}: {self.turn}"


class EntityPending(models.Model):
    """A memory that the watermark does not find: edited, or brought back into retrieval."""

    pk = models.CompositePrimaryKey("namespace_id", "memory_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.memory_id)
