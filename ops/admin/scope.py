"""Determines which rows and which texts a member of staff sees in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Field, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.models import Namespace
from memory.models.scoped import ScopedQuerySet
from memory.types import Access
from ops.access import MASK


def member(request: HttpRequest) -> User:
    """Return the member of staff who opened a page."""
    assert isinstance(request.user, User)
    return request.user


def narrow_to_reach(rows: QuerySet, access: Access) -> QuerySet:
    """Narrow rows to the namespaces that `access` reaches. Rows without a namespace need access to all.

    Tables without a namespace column (embedding models) belong to the server and hold no tenant's data.
    """
    if access.all_namespaces:
        return rows.across_namespaces() if isinstance(rows, ScopedQuerySet) else rows
    if rows.model is Namespace:
        return rows.filter(pk__in=access.namespace_ids)
    if any(field.attname == "namespace_id" for field in rows.model._meta.concrete_fields):
        return rows.filter(namespace_id__in=access.namespace_ids)
    return rows


def narrow_choices(rows: QuerySet | None, db_field: Field, access: Access) -> QuerySet | None:
    """Narrow the choices of a relation. `rows` is what the admin would offer; None means all."""
    related: Any = db_field.related_model
    if not hasattr(related, "_default_manager"):
        return rows
    return narrow_to_reach(related._default_manager.all() if rows is None else rows, access)


def render_mask(characters: int) -> str:
    """Return the placeholder for a text that this member of staff may not read."""
    return f"{MASK} ({ngettext('%(count)d character', '%(count)d characters', characters) % {'count': characters}})"


def render_mask_box(characters: int) -> SafeString:
    """Render the placeholder as a box, which says how to get the permission."""
    return format_html(
        '<p class="mos-masked">{}<span class="mos-quiet">{}</span></p>',
        render_mask(characters),
        _("It is hidden: ask an administrator for the permission “Can read what memories, summaries and packs say”."),
    )
