"""Measurements of retrieval, read-only: evaluation runs and judgements of hits."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from memory.models import EvaluationRun, RelevanceJudgement
from ops.admin.filters import ActorFilter, NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import excerpt, memory_link, pretty_json
from ops.admin.scope import render_mask
from ops.admin.texts import TextAdmin


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyAdmin):
    """Runs of `manage.py evaluate` and of POST /v1/evaluations."""

    list_display = ("subject", "label", "status", "questions", "recall", "rank", "foreign", "created_at")
    list_filter = ("status", NamespaceFilter, "created_at")
    fields = (
        *("namespace", "dataset", "label", "status", "error", "shown_metrics", "notes", "shown_options"),
        *("shown_configuration", "content_digest", "actor", "created_at", "started_at", "finished_at", "id"),
    )

    @admin.display(description=gettext_lazy("measured"))
    def subject(self, run: EvaluationRun) -> str:
        return run.dataset or run.namespace

    @admin.display(description=gettext_lazy("questions"))
    def questions(self, run: EvaluationRun) -> str:
        return f"{run.metrics['questions']:,}" if run.metrics else "—"

    @admin.display(description="R@10")
    def recall(self, run: EvaluationRun) -> str:
        return f"{run.metrics['overall']['R@10']:.1%}" if run.metrics else "—"

    @admin.display(description="MRR")
    def rank(self, run: EvaluationRun) -> str:
        return f"{run.metrics['overall']['MRR']:.1%}" if run.metrics else "—"

    @admin.display(description=gettext_lazy("hits of others"))
    def foreign(self, run: EvaluationRun) -> str:
        return f"{run.metrics['pollution']['foreign']:,}" if run.metrics else "—"

    @admin.display(description=gettext_lazy("metrics (0 to 1)"))
    def shown_metrics(self, run: EvaluationRun) -> SafeString:
        return pretty_json(run.metrics)

    @admin.display(description=gettext_lazy("options"))
    def shown_options(self, run: EvaluationRun) -> SafeString:
        return pretty_json(run.options)

    @admin.display(description=gettext_lazy("configuration"))
    def shown_configuration(self, run: EvaluationRun) -> SafeString:
        return pretty_json(run.configuration)


@admin.register(RelevanceJudgement)
class RelevanceJudgementAdmin(TextAdmin):
    """Marks of people and clients that say which memories answer which questions."""

    what = "judgement"
    hidden = {"question": "hidden_question", "query_text": "hidden_question"}

    list_display = ("question", "relevant", "marked_memory", "namespace", "actor", "created_at")
    list_filter = (NamespaceFilter, "relevant", ActorFilter, "created_at")
    list_select_related = ("namespace",)
    fields = ("namespace", "query_text", "relevant", "marked_memory", "actor", "created_at", "id")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).select_related("namespace")

    @admin.display(description=gettext_lazy("question"))
    def question(self, row: RelevanceJudgement) -> str:
        return excerpt(row.query_text)

    @admin.display(description=gettext_lazy("question"))
    def hidden_question(self, row: RelevanceJudgement) -> str:
        return render_mask(len(row.query_text))

    @admin.display(description=gettext_lazy("memory"))
    def marked_memory(self, row: RelevanceJudgement) -> SafeString:
        return memory_link(str(row.memory_id), f"…{str(row.memory_id)[-12:]}")
