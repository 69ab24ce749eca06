"""Lists the schedules; `ensure_schedules` makes django-q2's rows match the list, and can be repeated."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone
from django_q.models import Schedule

from memory.services.jobs.schedules import mend_clock


@dataclass(frozen=True, slots=True)
class Entry:
    """A task and its interval in minutes. One that `goes_on` runs again immediately while work is left."""

    name: str
    task: str
    minutes: int
    goes_on: bool = False


SCHEDULES = (
    Entry("memos: embed pending memories", "embed_pending", 1, goes_on=True),
    Entry("memos: check marks of vectors", "check_embedded_marks", 60),
    Entry("memos: renew terms", "renew_terms", 1, goes_on=True),
    Entry("memos: keep up large namespaces", "keep_up_large_namespaces", 1, goes_on=True),
    Entry("memos: keep up HNSW indexes", "keep_up_hnsw_indexes", 1),
    Entry("memos: forget index changes", "forget_index_changes", 30),
    Entry("memos: index entities", "index_entities", 1, goes_on=True),
    Entry("memos: settle memories", "settle_memories", 1, goes_on=True),
    Entry("memos: judge unsure pairs", "judge_unsure_pairs", 1),
    Entry("memos: request facts", "request_facts", 1),
    Entry("memos: request preferences", "request_preferences", 1),
    Entry("memos: forget unmentioned entities", "forget_unmentioned_entities", 60),
    Entry("memos: request missing summaries", "request_missing_summaries", 1),
    Entry("memos: request lost erasures", "request_lost_erasures", 1),
    Entry("memos: seal audit events", "seal_audit", 1),
    Entry("memos: count uses", "count_uses", 1, goes_on=True),
    Entry("memos: sweep", "sweep_memories", 60),
    Entry("memos: fail lost evaluations", "fail_lost_evaluations", 5),
    Entry("memos: forget idempotency keys", "forget_idempotency_keys", 60),
    Entry("memos: verify the audit chain", "verify_audit", 24 * 60),
    Entry("memos: forget finished jobs", "forget_finished_jobs", 60),
    Entry("memos: forget bulk changes", "forget_bulk_changes", 60),
    Entry("memos: keep up activation caches", "keep_up_activation", 1),
    Entry("memos: forget imports", "forget_imports", 60),
    Entry("memos: forget document files", "forget_document_files", 60),
    Entry("memos: follow training", "follow_training", 1),
    Entry("memos: forget training files", "forget_training_files", 60),
    Entry("memos: forget cube files", "forget_cube_files", 60),
    Entry("memos: request backups", "request_backup", 5),
    Entry("memos: forget request figures", "forget_request_figures", 60),
    Entry("memos: forget model calls", "forget_model_calls", 60),
    Entry("memos: forget webhook deliveries", "forget_webhook_deliveries", 60),
)


def ensure_schedules() -> None:
    """Create or update the schedules in `SCHEDULES`, and delete obsolete ones."""
    names = [entry.name for entry in SCHEDULES]
    Schedule.objects.filter(name__startswith="memos: ").exclude(name__in=names).delete()
    for entry in SCHEDULES:
        Schedule.objects.update_or_create(
            name=entry.name,
            defaults={
                "func": "memory.services.jobs.runner.run_schedule",
                "schedule_type": Schedule.MINUTES,
                "minutes": entry.minutes,
                "repeats": -1,
                "kwargs": repr({"schedule": entry.name, "kind": entry.task, "goes_on": entry.goes_on}),
            },
        )
    mend_clock(now=timezone.now())
