"""Which namespaces are large."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from memory.models import NamespaceStat


def list_large(*, share: float = 1.0) -> list[tuple[int, int]]:
    """Lists (namespace id, searchable memories) of the namespaces that have more memories than a large one must have,
    or than a `share` of that; in the order of their ids."""
    sizes = NamespaceStat.objects.order_by("namespace_id").values_list("namespace_id").annotate(size=Sum("memories"))
    return list(sizes.filter(size__gt=int(share * settings.MEMOS_LARGE_NAMESPACE_MEMORIES)))
