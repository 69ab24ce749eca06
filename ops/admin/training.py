"""Data sets and adapters, read-only. The page Adapters and the API create and activate them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import Adapter, TrainingDataset
from ops.admin.filters import ActorFilter, IdFilter, NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import pretty_json

CHANGE = "memory.change_adapter"


class DatasetFilter(IdFilter):
    """Filters adapters by the data set that they were trained on."""

    title = gettext_lazy("data set")
    parameter_name = "dataset_id"
    placeholder = gettext_lazy("exact id")


@admin.register(TrainingDataset)
class TrainingDatasetAdmin(ReadOnlyAdmin):
    """Data sets for training. They contain memory text and can be downloaded by the API only."""

    list_display = ("id", "namespace_id", "problem", "actor", "created_at", "finished_at", "stale_at", "dropped_at")
    list_filter = (NamespaceFilter, ActorFilter, "created_at", "stale_at")
    fields = ("namespace_id", "shown_options", "shown_manifest", "problem", "stale_at", "shown_stale", "rebuild_of",
              "erasures", "adapters", "actor", "created_at", "finished_at", "dropped_at", "id")  # fmt: skip

    @admin.display(description=gettext_lazy("options"))
    def shown_options(self, row: TrainingDataset) -> SafeString:
        return pretty_json(row.options)

    @admin.display(description=gettext_lazy("manifest"))
    def shown_manifest(self, row: TrainingDataset) -> SafeString:
        return pretty_json(row.manifest)

    @admin.display(description=gettext_lazy("stale"))
    def shown_stale(self, row: TrainingDataset) -> SafeString:
        return pretty_json(row.stale)

    @admin.display(description=gettext_lazy("adapters"))
    def adapters(self, row: TrainingDataset) -> SafeString:
        address = reverse("admin:memory_adapter_changelist")
        return format_html('<a href="{}?dataset_id={}">{}</a>', address, row.pk, _("What was trained on it"))


@admin.register(Adapter)
class AdapterAdmin(ReadOnlyAdmin):
    """LoRA adapters. Their servers are visible to users who may change adapters, as on the console's page."""

    list_display = ("name", "namespace_id", "state", "base_model", "problem", "actor", "created_at", "activated_at",
                    "ended_at")  # fmt: skip
    list_filter = (NamespaceFilter, "state", ActorFilter, DatasetFilter, "created_at")
    fields = ("name", "namespace_id", "state", "problem", "shown_dataset", "base_model", "base_sha256",
              "shown_options", "shown_metrics", "shown_refusals", "shown_files", "shown_servers", "rebuild", "erasures",
              "actor", "created_at", "trained_at", "activated_at", "ended_at", "page", "id")  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: Adapter | None = None) -> Any:
        may_change = request.user.has_perm(CHANGE)
        return [name for name in self.fields if name != "shown_servers" or may_change]

    @admin.display(description=gettext_lazy("data set"))
    def shown_dataset(self, row: Adapter) -> SafeString:
        address = reverse("admin:memory_trainingdataset_change", args=[row.dataset_id])
        return format_html('<a href="{}">{}</a>', address, row.dataset_id)

    @admin.display(description=gettext_lazy("options"))
    def shown_options(self, row: Adapter) -> SafeString:
        return pretty_json(row.options)

    @admin.display(description=gettext_lazy("metrics"))
    def shown_metrics(self, row: Adapter) -> SafeString:
        return pretty_json(row.metrics)

    @admin.display(description=gettext_lazy("refusals"))
    def shown_refusals(self, row: Adapter) -> SafeString:
        return pretty_json(row.refusals)

    @admin.display(description=gettext_lazy("files"))
    def shown_files(self, row: Adapter) -> SafeString:
        return pretty_json(row.files)

    @admin.display(description=gettext_lazy("loaded by"))
    def shown_servers(self, row: Adapter) -> SafeString:
        return pretty_json(row.served_by)

    @admin.display(description=gettext_lazy("page"))
    def page(self, row: Adapter) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:adapter", args=[row.pk]), _("In the console"))
