"""Users, cubes and receipts of erased users, read-only. The API and the console create, change and erase them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import Cube, CubeShare, User, UserErasure
from ops.access import MASK, reads_text
from ops.admin.filters import ActorFilter, NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import moment, pretty_json
from ops.admin.scope import render_mask
from ops.admin.texts import TextAdmin

MOST_SHARES = 200


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """The people whose memories are kept. Fields with text about them are masked for users who may not read texts."""

    list_display = ("name", "namespace", "revision", "created_by", "created_at")
    list_filter = (NamespaceFilter, "created_at")
    list_select_related = ("namespace",)
    typed = ("display_name", "shown_preferences", "shown_metadata")
    fields = (
        *("name", "display_name", "namespace", "shown_preferences", "shown_metadata", "revision", "created_by"),
        *("created_at", "updated_at", "page", "id"),
    )

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        if reads_text(request):
            return self.fields
        return [f"masked_{name}" if name in self.typed else str(name) for name in self.fields]

    @admin.display(description=gettext_lazy("preferences"))
    def shown_preferences(self, user: User) -> SafeString:
        return pretty_json(user.preferences)

    @admin.display(description=gettext_lazy("metadata"))
    def shown_metadata(self, user: User) -> SafeString:
        return pretty_json(user.metadata)

    @admin.display(description=gettext_lazy("display name"))
    def masked_display_name(self, user: User) -> str:
        return MASK if user.display_name else "—"

    @admin.display(description=gettext_lazy("preferences"))
    def masked_shown_preferences(self, user: User) -> str:
        return MASK if user.preferences else "—"

    @admin.display(description=gettext_lazy("metadata"))
    def masked_shown_metadata(self, user: User) -> str:
        return MASK if user.metadata else "—"

    @admin.display(description=gettext_lazy("page"))
    def page(self, user: User) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:user", args=[user.pk]), user.name)


@admin.register(Cube)
class CubeAdmin(ReadOnlyAdmin):
    """Cubes, which are namespaces with an owner. Their shares are listed on the same page."""

    list_display = ("name", "namespace", "shown_kinds", "revision", "created_by", "created_at")
    list_filter = (NamespaceFilter, "created_at")
    list_select_related = ("namespace",)
    fields = (
        *("name", "description", "namespace", "owner_id", "shown_kinds", "shares", "revision", "created_by"),
        *("created_at", "updated_at", "page", "id"),
    )

    @admin.display(description=gettext_lazy("kinds"))
    def shown_kinds(self, cube: Cube) -> str:
        return ", ".join(cube.kinds)

    @admin.display(description=gettext_lazy("shares"))
    def shares(self, cube: Cube) -> SafeString | str:
        """List the shares, newest first. Users are shown by id, because they may belong to a namespace out of reach."""
        found = CubeShare.objects.filter(namespace_id=cube.namespace_id).order_by("-created_at", "user_id")
        lines = (
            (
                share.user_id,
                share.get_level_display(),
                _when(share.expires_at),
                share.created_by,
                moment(share.created_at),
            )
            for share in found[:MOST_SHARES]
        )
        return format_html_join("", "<p>{} · {} · {} · {} · {}</p>", lines) or "—"

    @admin.display(description=gettext_lazy("page"))
    def page(self, cube: Cube) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:cube", args=[cube.pk]), cube.name)


@admin.register(UserErasure)
class UserErasureAdmin(TextAdmin):
    """Receipts of erased users. Only the id is left of a user. The reason is masked like other typed text."""

    what = "receipt"
    hidden = {"reason": "masked_reason"}
    ordering = ("-created_at",)
    list_display = ("user_id", "namespace", "reason", "keys_revoked", "shares_ended", "cubes_disowned", "actor",
                    "created_at")  # fmt: skip
    list_filter = (NamespaceFilter, ActorFilter, "created_at")
    list_select_related = ("namespace",)
    fields = ("user_id", "namespace", "reason", "keys_revoked", "shares_ended", "cubes_disowned", "shown_erasures",
              "actor", "created_at", "page")  # fmt: skip

    @admin.display(description=gettext_lazy("reason"))
    def masked_reason(self, receipt: UserErasure) -> str:
        return render_mask(len(receipt.reason))

    @admin.display(description=gettext_lazy("erasures"))
    def shown_erasures(self, receipt: UserErasure) -> SafeString:
        return format_html_join(
            "",
            '<p><a href="{}">{}</a></p>',
            ((reverse("ops:erasure", args=[one["id"]]), one["id"]) for one in receipt.erasures),
        )

    @admin.display(description=gettext_lazy("page"))
    def page(self, receipt: UserErasure) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:user", args=[receipt.pk]), _("In the console"))


def _when(expires_at: datetime | None) -> SafeString | str:
    return moment(expires_at) if expires_at else _("does not expire")
