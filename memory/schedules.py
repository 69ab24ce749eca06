"""What runs by the clock. `ensure_schedules` makes the rows match this list; it may run any number of times."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone
from django_q.models import Schedule

from memory.services.jobs.manage import mend_clock


@dataclass(frozen=True, slots=True)
class Entry:
    """A task and how often it runs, in minutes."""

    name: str
    task: str
    minutes: int


SCHEDULES = (
    Entry("memos: embed pending memories", "memory.tasks.embed_pending", 1),
    Entry("memos: check marks of vectors", "memory.tasks.check_embedded_marks", 60),
    Entry("memos: renew terms", "memory.tasks.renew_terms", 1),
    Entry("memos: keep up large namespaces", "memory.tasks.keep_up_large_namespaces", 1),
    Entry("memos: keep up HNSW indexes", "memory.tasks.keep_up_hnsw_indexes", 1),
    Entry("memos: forget index changes", "memory.tasks.forget_index_changes", 30),
    Entry("memos: index entities", "memory.tasks.index_entities", 1),
    Entry("memos: settle memories", "memory.tasks.settle_memories", 1),
    Entry("memos: judge unsure pairs", "memory.tasks.judge_unsure_pairs", 1),
    Entry("memos: request facts", "memory.tasks.request_facts", 1),
    Entry("memos: request preferences", "memory.tasks.request_preferences", 1),
    Entry("memos: request trees", "memory.tasks.request_trees", 1),
    Entry("memos: forget unmentioned entities", "memory.tasks.forget_unmentioned_entities", 60),
    Entry("memos: request missing summaries", "memory.tasks.request_missing_summaries", 1),
    Entry("memos: request lost erasures", "memory.tasks.request_lost_erasures", 1),
    Entry("memos: seal audit events", "memory.tasks.seal_audit", 1),
    Entry("memos: count uses", "memory.tasks.count_uses", 1),
    Entry("memos: sweep", "memory.tasks.sweep_memories", 60),
    Entry("memos: recover lost jobs", "memory.tasks.recover_lost_jobs", 1),
    Entry("memos: fail lost evaluations", "memory.tasks.fail_lost_evaluations", 5),
    Entry("memos: forget idempotency keys", "memory.tasks.forget_idempotency_keys", 60),
    Entry("memos: verify the audit chain", "memory.tasks.verify_audit", 24 * 60),
    Entry("memos: forget finished jobs", "memory.tasks.forget_finished_jobs", 60),
    Entry("memos: forget bulk changes", "memory.tasks.forget_bulk_changes", 60),
    Entry("memos: keep up activation caches", "memory.tasks.keep_up_activation", 1),
    Entry("memos: forget imports", "memory.tasks.forget_imports", 60),
    Entry("memos: forget document files", "memory.tasks.forget_document_files", 60),
    Entry("memos: follow training", "memory.tasks.follow_training", 1),
    Entry("memos: forget training files", "memory.tasks.forget_training_files", 60),
    Entry("memos: forget cube files", "memory.tasks.forget_cube_files", 60),
    Entry("memos: request backups", "memory.tasks.request_backup", 5),
    Entry("memos: forget request figures", "memory.tasks.forget_request_figures", 60),
    Entry("memos: forget model calls", "memory.tasks.forget_model_calls", 60),
    Entry("memos: forget webhook deliveries", "memory.tasks.forget_webhook_deliveries", 60),
)


def ensure_schedules() -> None:
    """Creates or corrects the schedules of SCHEDULES and removes those that MemOS no longer has."""
    names = [entry.name for entry in SCHEDULES]
    Schedule.objects.filter(name__startswith="memos: ").exclude(name__in=names).delete()
    for entry in SCHEDULES:
        Schedule.objects.update_or_create(
            name=entry.name,
            defaults={
                "func": entry.task,
                "schedule_type": Schedule.MINUTES,
                "minutes": entry.minutes,
                "repeats": -1,
                # What the task's run is recorded under (memory.tasks.job).
                "kwargs": repr({"schedule": entry.name}),
            },
        )
    mend_clock(now=timezone.now())
