"""Activation caches, read-only. The page Activation and the API build and drop them."""

from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from memory.models import ActivationCache
from ops.admin.filters import NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import memory_link


@admin.register(ActivationCache)
class ActivationCacheAdmin(ReadOnlyAdmin):
    """Caches of what language models have computed for prefixes. The files are in MEMOS_ACTIVATION_DIR."""

    list_display = ("file", "namespace_id", "model", "form", "state", "tokens", "bytes", "uses", "used_at")
    list_filter = (NamespaceFilter, "state", "engine", "form", "created_at")
    fields = (
        *("namespace_id", "engine", "model", "form", "state", "reason", "file", "folder_id", "bytes", "tokens"),
        *("build_ms", "uses", "used_at", "prefix_sha256", "model_sha256", "memories", "actor", "created_at"),
        *("written_at", "id"),
    )

    @admin.display(description=gettext_lazy("memories"))
    def memories(self, cache: ActivationCache) -> SafeString:
        return format_html_join(", ", "{}", ((memory_link(str(one), str(one)),) for one in cache.memory_ids))
