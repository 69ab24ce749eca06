"""Dumps and loads of cubes with their progress and outcome. Finished ones can be deleted together with their file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from memory.enums import CubeFileKind
from memory.errors import MemosError
from memory.models import CubeFile
from memory.services.cube_files import requests
from ops.access import reads_text, staff_access
from ops.admin.filters import ActorFilter, NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import pretty_json
from ops.admin.scope import render_mask
from ops.pages.cube_files import STATES


@admin.register(CubeFile)
class CubeFileAdmin(ReadOnlyAdmin):
    """Files of cubes. The page of a cube and the API start, cancel and download them."""

    list_display = ("full_name", "kind", "namespace_id", "state", "progress", "size", "actor", "created_at",
                    "finished_at")  # fmt: skip
    list_filter = ("kind", NamespaceFilter, ActorFilter, "dry_run", "created_at")
    fields = ("full_name", "kind", "namespace_id", "state", "progress", "dry_run", "size", "digest", "signature",
              "options_json", "counts_json", "faults_json", "problem", "is_there", "actor", "created_at",
              "cancelled_at", "finished_at", "id")  # fmt: skip

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._mask(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: CubeFile | None = None) -> list[Any]:
        return self._mask(request, self.fields)

    def _mask(self, request: HttpRequest, names: Sequence[str]) -> list[Any]:
        return ["masked_name" if name == "full_name" and not reads_text(request) else name for name in names]

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Leave out large columns that are not shown."""
        return super().get_queryset(request).defer("manifest", "listed")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow the deletion of finished files only; running ones have to be cancelled first."""
        user = request.user
        may = user.is_active and user.is_staff and user.has_perm("memory.delete_cubefile")
        return may and (not isinstance(obj, CubeFile) or obj.finished_at is not None)

    def delete_model(self, request: HttpRequest, obj: CubeFile) -> None:
        self._delete(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        for one in queryset:
            self._delete(request, one)

    def _delete(self, request: HttpRequest, file: CubeFile) -> None:
        try:
            requests.delete_file(staff_access(request), file_id=file.id)
        except MemosError as error:
            messages.error(request, error.message)

    @admin.display(description=gettext_lazy("name"))
    def full_name(self, file: CubeFile) -> str:
        return file.name

    @admin.display(description=gettext_lazy("name"))
    def masked_name(self, file: CubeFile) -> str | SafeString:
        """Mask the name of a loaded file, which its sender chose. Dumps are named after their namespace."""
        return file.name if file.kind == CubeFileKind.DUMP else render_mask(len(file.name))

    @admin.display(description=gettext_lazy("state"))
    def state(self, file: CubeFile) -> str:
        return str(STATES[requests.state_of(file)][1])

    @admin.display(description=gettext_lazy("progress"))
    def progress(self, file: CubeFile) -> SafeString | str:
        return format_html("{} / {}", f"{file.done:,}", f"{file.total:,}") if file.total else f"{file.done:,}"

    @admin.display(description=gettext_lazy("file is kept"), boolean=True)
    def is_there(self, file: CubeFile) -> bool:
        return requests.is_there(file)

    @admin.display(description=gettext_lazy("options"))
    def options_json(self, file: CubeFile) -> SafeString:
        return pretty_json(file.options)

    @admin.display(description=gettext_lazy("outcomes"))
    def counts_json(self, file: CubeFile) -> SafeString:
        return pretty_json(file.counts)

    @admin.display(description=gettext_lazy("unreadable lines"))
    def faults_json(self, file: CubeFile) -> SafeString:
        return pretty_json(file.faults)
