"""Filters of the list of memories. Each is a condition on indexed columns, or a lookup by key for each row shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.enums import LinkKind, MemoryKind, Review
from memory.kinds import SESSION_PREFIX
from memory.models import Memory, MemoryLink, MemoryUpkeep, Session
from memory.models.memory import MemoryQuerySet
from memory.services.memories.tags import TAGS_KEY
from ops.admin.filters import TypedFilter
from ops.model_words import value_word

SOON = timedelta(days=7)
BANDS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))


class _Choice(admin.SimpleListFilter):
    """A filter with a few named conditions (`options`)."""

    options: tuple[tuple[str, Any], ...] = ()

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> tuple[tuple[str, Any], ...]:
        return self.options

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        value = self.value()
        return self.narrow(queryset, value) if value in {key for key, _label in self.options} else queryset

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        raise NotImplementedError


class KindFilter(_Choice):
    """Filters by kind, which determines how fast a memory fades (`memory.kinds.kind_of`)."""

    title = _("kind")
    parameter_name = "kind"
    options = tuple((kind.value, value_word(kind.label)) for kind in MemoryKind)

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        return cast(MemoryQuerySet, rows).of_kind(str(value))


class VectorFilter(_Choice):
    """Filters memories without a vector, which cannot be found by meaning."""

    title = _("vector")
    parameter_name = "vector"
    options = (("missing", _("Missing")),)

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        return rows.filter(embedded=False)


class SourceFilter(_Choice):
    """Filters by origin."""

    title = _("source")
    parameter_name = "source"
    options = (("conversation", _("Conversation")), ("document", _("Document")), ("none", _("Its session is gone")))

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        if value == "document":
            return rows.filter(turn__lt=0, session__startswith=SESSION_PREFIX)
        rows = rows.filter(turn__gt=0)
        if value == "conversation":
            return rows
        own = Session.objects.filter(namespace_id=OuterRef("namespace_id"), name=OuterRef("session"))
        return rows.filter(~Exists(own))


class ExpiryFilter(_Choice):
    """Filters by a memory's own expiry date. Expiry by a policy is on the page Decay."""

    title = _("expiry")
    parameter_name = "expiry"
    options = (("soon", _("Within 7 days")), ("over", _("Over")), ("dated", _("Has a date")))

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        now = timezone.now()
        dated = MemoryUpkeep.objects.filter(namespace_id=OuterRef("namespace_id"), memory_id=OuterRef("pk"))
        wanted = {
            "soon": Q(expires_at__gte=now, expires_at__lt=now + SOON),
            "over": Q(expires_at__lt=now),
            "dated": Q(expires_at__isnull=False),
        }[str(value)]
        return rows.filter(Exists(dated.filter(wanted)))


class ReviewFilter(_Choice):
    """Filters memories that await a person's review."""

    title = _("review")
    parameter_name = "review"
    options = (
        ("waiting", _("Any reason")),
        (Review.CONTRADICTION.value, _("Contradicted")),
        (Review.WRONG.value, _("Marked wrong")),
        (Review.OUTDATED.value, _("Marked outdated")),
        (Review.SUSPECTED.value, _("Suspected")),
    )

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        if value == "waiting":
            return rows.exclude(review="")
        if value == Review.CONTRADICTION:
            # The query starts from the few linked or marked memories: a condition on each of millions took more than 5
            # s.
            links = MemoryLink.objects.across_namespaces().filter(kind=LinkKind.CONTRADICTS).order_by()
            marked = Memory.objects.across_namespaces().filter(review=value).order_by()
            either = links.values("memory_id").union(links.values("other_id"), marked.values("pk"))
            return rows.filter(pk__in=either)
        return rows.filter(review=value)


class DuplicateFilter(_Choice):
    """Filters by whether another memory had the same text when the sweep last counted."""

    title = _("duplicates")
    parameter_name = "duplicates"
    options = (("yes", _("Said more than once")),)

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        own = MemoryUpkeep.objects.filter(namespace_id=OuterRef("namespace_id"), memory_id=OuterRef("pk"))
        return rows.filter(Exists(own.filter(repeats__gt=1)))


class HoldsFilter(_Choice):
    """Filters by whether a memory still holds."""

    title = _("holds")
    parameter_name = "holds"
    options = (("yes", _("Still")), ("superseded", _("Superseded")))

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        return rows.filter(superseded_by__isnull=value == "yes")


class ImportanceFilter(_Choice):
    """Filters by importance in bands of a fifth."""

    title = _("importance")
    parameter_name = "band"
    options = tuple((str(place), f"{low:.1f} – {min(high, 1):.1f}") for place, (low, high) in enumerate(BANDS))

    def narrow(self, rows: QuerySet, value: str | None) -> QuerySet:
        low, high = BANDS[int(str(value))]
        return rows.filter(importance__gte=low, importance__lt=high)


class TagFilter(TypedFilter):
    """Filters by a tag."""

    title = _("tag")
    parameter_name = "tag"
    placeholder = _("exact tag")

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value:
            return queryset
        # This condition matches the index `memory_tagged`.
        return queryset.filter(metadata__has_key=TAGS_KEY, metadata__tags__contains=[self.value])
