"""Lists large namespaces."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Sum

from memory.models import NamespaceStat


def list_large(*, share: float = 1.0) -> list[tuple[int, int]]:
    """Lists (namespace id, searchable memories), by id, of namespaces above `share` of the size of a large one."""
    sizes = NamespaceStat.objects.order_by("namespace_id").values_list("namespace_id").annotate(size=Sum("memories"))
    return list(sizes.filter(size__gt=int(share * settings.MEMOS_LARGE_NAMESPACE_MEMORIES)))
