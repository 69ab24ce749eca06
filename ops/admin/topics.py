"""Nodes of trees, read-only. The worker makes them, and the page Tree shows their contents."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import TopicNode
from ops.admin.filters import NamespaceFilter, SessionFilter
from ops.admin.lists import ReadOnlyAdmin


@admin.register(TopicNode)
class TopicNodeAdmin(ReadOnlyAdmin):
    """Sessions and their topics. A node stores no text; its words are in its memories."""

    list_display = ("id", "level", "session", "namespace", "size", "stale", "updated_at")
    list_filter = (NamespaceFilter, SessionFilter, "level", "stale")
    list_select_related = ("namespace",)
    fields = ("namespace", "level", "session", "parent", "size", "stale", "page", "created_at", "updated_at", "id")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer("centroid", "label_places", "summary_places")

    @admin.display(description=gettext_lazy("what it says"))
    def page(self, node: TopicNode) -> SafeString:
        address = reverse("ops:tree_node", args=[node.pk])
        query = urlencode({"ns": node.namespace.name})
        return format_html('<a href="{}?{}">{}</a>', address, query, _("In the tree"))
