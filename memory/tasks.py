"""Background jobs: ids in, one service call each. A job that runs twice changes nothing the second time.

`@job` ties a task to its row in the table of jobs: the queue passes `job` with what it carries, the clock `schedule`.
Without either, a task is a plain function.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.utils import timezone

from memory import caller, tracing
from memory.enums import ActivationEngine, AdapterState, PromptForm
from memory.errors import AuditBroken, EmbeddingUnavailable
from memory.evaluation.runner import run_requested
from memory.models import Namespace
from memory.postgresql import reach
from memory.services.activation import build as activation_build
from memory.services.activation import upkeep as activation_upkeep
from memory.services.audit import chain, verify
from memory.services.backup import scheduled as scheduled_backups
from memory.services.cube_files import requests as cube_file_requests
from memory.services.cube_files import run as cube_file_run
from memory.services.entities import extract
from memory.services.erasure import requests
from memory.services.erasure import run as erasing
from memory.services.evaluation import runs
from memory.services.facts import due as facts_due
from memory.services.facts import extract as extract_from_turns
from memory.services.facts import store as facts_store
from memory.services.imports import requests as import_requests
from memory.services.imports import run as import_run
from memory.services.imports import uploads
from memory.services.index import changes, common_terms, hnsw_indexes, marks, missing_vectors
from memory.services.index import renew_terms as term_renewal
from memory.services.ingestion import file_run, files
from memory.services.jobs import manage, runner
from memory.services.memories import bulk, bulk_run, judge, retire, settle, usage
from memory.services.memories import follow_sources as follow
from memory.services.monitoring import request_stats
from memory.services.preferences import due as preferences_due
from memory.services.preferences import read as preferences_read
from memory.services.preferences import store as preferences_store
from memory.services.projection import fit
from memory.services.retention import strength_counts, sweep
from memory.services.summaries import condense, refresh, stale
from memory.services.tenancy import idempotency
from memory.services.training import export as training_export
from memory.services.training import follow as training_follow
from memory.services.training import train as training_train
from memory.services.tree import due as tree_due
from memory.services.tree import grow as tree_grow
from memory.services.usage import calls
from memory.services.webhooks import log as webhook_log
from memory.spool import clear_leftovers
from memory.types import Scope

log = logging.getLogger("memos.tasks")

WORKER = "worker"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_latest: datetime | None = None


def job(task: Callable[Arguments, Result]) -> Callable[..., Result | None]:
    """The task, carried out as a job when the queue or the clock calls it."""
    kind = task.__name__

    @wraps(task)
    def run(
        *arguments: Any, job: tuple[int, str] | None = None, schedule: str = "", traceparent: str = ""
    ) -> Result | None:
        if job is None and not schedule:
            return task(*arguments)  # type: ignore[call-arg]
        with (
            tracing.job_span(kind, traceparent),
            reach.within(job[0]) if job is not None and job[0] else reach.across_namespaces(),
            caller.hold(caller.Caller(request_id=job[1] if job is not None else "")),
        ):
            now = _look_at_clock()
            if job is not None:
                claimed = runner.begin(namespace_id=job[0], job_id=uuid.UUID(job[1]), now=now)
            else:
                claimed = runner.begin_scheduled(schedule=schedule, kind=kind, now=now)
            return runner.carry_out(claimed, lambda: task(*arguments), clock=timezone.now)  # type: ignore[call-arg]

    return run


def _look_at_clock() -> datetime:
    """Now. When it is earlier than this process has seen it, what the clock's jump left in the future is mended."""
    global _latest  # noqa: PLW0603 - one moment a process
    now = timezone.now()
    if _latest is None or now < _latest:
        manage.mend_clock(now=now)
    _latest = now
    return now


@job
def condense_session(namespace_id: int, session: str) -> int:
    """Brings one session's summary up to date; returns how many versions that made."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    scope = Scope(namespace_id, name, WORKER)
    return len(condense.condense_session(scope, session=session, now=timezone.now()))


@job
def embed_pending() -> int:
    """Makes the vectors that ingest could not; while the provider is away the schedule tries again."""
    try:
        return missing_vectors.embed_pending(seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
    except EmbeddingUnavailable as error:
        log.warning("memories still wait for their vectors", extra={"reason": error.message})
        return 0


@job
def check_embedded_marks() -> int:
    """Sets right which memories are said to have vectors; returns of how many that was wrong."""
    changed = marks.correct_marks()
    if changed:
        log.warning("memories were wrongly marked as embedded or not", extra={"memories": changed})
    return changed


@job
def renew_terms() -> int:
    """Renews the terms that an earlier version of MemOS has stored; returns of how many memories."""
    return term_renewal.renew_terms(now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)


@job
def forget_idempotency_keys() -> int:
    """Deletes idempotency records older than MEMOS_IDEMPOTENCY_HOURS."""
    return idempotency.forget_old(now=timezone.now())


@job
def request_missing_summaries() -> int:
    """Queues summaries that are due but were never asked for, or whose job was lost."""
    return refresh.request_overdue(now=timezone.now())


@job
def keep_up_large_namespaces() -> int:
    """Counts the common terms of large namespaces; what is left waits a minute."""
    return common_terms.keep_up(seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)


@job
def keep_up_hnsw_indexes() -> int:
    """Makes the HNSW indexes of large namespaces and drops those that are no longer needed; returns how many. What
    takes longer goes on in PostgreSQL."""
    report = hnsw_indexes.keep_up(seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
    return report.made + report.dropped


@job
def forget_index_changes() -> int:
    """Deletes the record of changes that every process has taken in; returns how many."""
    return changes.forget(now=timezone.now())


@job
def index_entities() -> int:
    """Reads names and relations in the memories that came or changed; what is left waits a minute."""
    return extract.index_pending(now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)


@job
def settle_memories() -> int:
    """Looks at what new memories do to earlier ones; what is left waits a minute."""
    return _settle(helper=0)


@job
def help_settling(helper: int) -> int:
    """As settle_memories, beside it, in namespaces that no other run has: new memories have waited for long."""
    return _settle(helper=helper)


def _settle(*, helper: int) -> int:
    seconds = settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    try:
        return settle.settle_pending(now=timezone.now(), seconds=seconds, helper=helper)
    except EmbeddingUnavailable as error:
        log.warning("new memories are not compared with earlier ones yet", extra={"reason": error.message})
        return 0


@job
def judge_unsure_pairs() -> int:
    """Asks a language model, if one is set up for it, about the pairs that the rules were unsure of; returns how many
    it judged. What is left waits a minute."""
    return judge.judge_due(now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 4)


@job
def settle_memory(namespace_id: int, *memory_ids: str) -> None:
    """Looks again at what memories do to others, now that they say something else, are away or are back."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is not None:
        scope = Scope(namespace_id, name, retire.ACTOR)
        for memory_id in memory_ids:
            settle.settle_memory(scope, memory_id=uuid.UUID(memory_id), now=timezone.now())


@job
def renew_summary(namespace_id: int, session: str) -> bool:
    """Makes a session's summary anew of which something holds no longer, or again; whether that changed it."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    scope = Scope(namespace_id, name or "", WORKER)
    return stale.renew(scope, session=session, now=timezone.now()) is not None


@job
def request_facts() -> int:
    """Queues the sessions with new turns in which facts are to be looked for."""
    return facts_due.request_facts(now=timezone.now())


@job
def extract_facts(namespace_id: int, session: str) -> int:
    """Has a language model read facts in a session's new turns; returns how many were stored."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    return extract_from_turns.extract_session(
        Scope(namespace_id, name, WORKER), session=session, now=timezone.now()
    ).stored


@job
def request_preferences() -> int:
    """Queues the sessions with new turns in which preferences are to be looked for."""
    return preferences_due.request_preferences(now=timezone.now())


@job
def read_preferences(namespace_id: int, session: str) -> int:
    """Reads preferences in a session's new turns; returns how many were stored."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    scope = Scope(namespace_id, name, preferences_store.ACTOR)
    return preferences_read.read_session(scope, session=session, now=timezone.now()).stored


@job
def request_trees() -> int:
    """Queues the namespaces whose tree has something to take in."""
    return tree_due.request_trees(now=timezone.now())


@job
def grow_tree(namespace_id: int) -> int:
    """Has the tree of a namespace follow its memories; returns how many were placed."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    return tree_grow.grow(Scope(namespace_id, name, WORKER), now=timezone.now())


@job
def follow_sources(namespace_id: int, session: str) -> int:
    """Has the facts of a session follow the turns that they rest on; returns how many that changed."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    scope = Scope(namespace_id, name or "", facts_store.ACTOR)
    return follow.follow_sources(scope, session=session, now=timezone.now())


@job
def forget_unmentioned_entities() -> int:
    """Deletes the names that no memory has any more."""
    return extract.forget_unmentioned_everywhere()


@job
def evaluate(namespace_id: int, run_id: str) -> bool:
    """Carries out a run that was asked for; False when it is over, or when another worker is at it."""
    return run_requested(namespace_id=namespace_id, run_id=uuid.UUID(run_id), now=timezone.now, progress=runner.report)


@job
def fail_lost_evaluations() -> int:
    """Fails the evaluations whose process has ended before them."""
    return runs.fail_lost(now=timezone.now())


@job
def seal_audit() -> int:
    """Seals the audit events that are settled; returns how many."""
    return chain.seal(now=timezone.now())


@job
def verify_audit() -> int:
    """Verifies the audit chain; returns how many events hold. Fails when one does not, so that `doctor` shows it."""
    proof = verify.verify()
    if proof.faults:
        first = proof.faults[0]
        raise AuditBroken(
            f"The audit log does not hold: seal {first.number}: {first.what}. "
            "`manage.py verify_audit` names the events."
        )
    return proof.events


@job
def count_uses() -> int:
    """Counts what packs and searches have carried since the last time."""
    return usage.count_uses(now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)


@job
def sweep_memories() -> int:
    """Archives what has faded or expired; returns how many memories. What is left waits for the next sweep.

    Counts the large namespaces afterwards, for who looks at their decay.
    """
    swept = sweep.sweep(actor=WORKER, now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
    if swept.paused:
        log.warning("sweep paused", extra={"reason": swept.paused})
    for namespace, problem in swept.skipped.items():
        log.warning("sweep left a namespace out", extra={"namespace": namespace, "reason": problem})
    strength_counts.count_large(actor=WORKER, now=timezone.now(), seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 4)
    return swept.total.decayed + swept.total.expired


@job
def project_memories(namespace_id: int) -> int:
    """Draws the map of one namespace; returns how many memories are on it."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    return fit.project(Scope(namespace_id, name, WORKER), now=timezone.now())


@job
def recover_lost_jobs() -> int:
    """Queues jobs again that their worker or the queue has lost."""
    return manage.recover(now=timezone.now())


@job
def forget_finished_jobs() -> int:
    """Deletes jobs that ended MEMOS_JOBS_KEEP_DAYS ago, but none that failed."""
    return manage.forget(now=timezone.now())


@job
def forget_request_figures() -> int:
    """Deletes the figures of minutes that are MEMOS_REQUEST_FIGURES_DAYS old."""
    return request_stats.forget(now=timezone.now())


@job
def forget_model_calls() -> int:
    """Deletes calls of models that are MEMOS_MODEL_CALLS_DAYS old; their sums by day stay."""
    return calls.forget(now=timezone.now())


@job
def forget_webhook_deliveries() -> int:
    """Deletes deliveries to webhooks that are MEMOS_WEBHOOK_LOG_DAYS old."""
    return webhook_log.forget(now=timezone.now())


@job
def erase(namespace_id: int, erasure_id: str) -> bool:
    """Carries out an erasure, or goes on with it; False when it is over, or when another worker is at it."""
    return erasing.carry_out(namespace_id=namespace_id, erasure_id=uuid.UUID(erasure_id), now=timezone.now)


@job
def change_memories(namespace_id: int, change_id: str) -> int:
    """Carries out a change of many memories, or goes on with it; returns how many memories it dealt with."""
    return bulk_run.carry_out(namespace_id=namespace_id, change_id=uuid.UUID(change_id), now=timezone.now)


@job
def import_memories(namespace_id: int, import_id: str) -> int:
    """Takes in what is left of a file; returns how many turns it dealt with."""
    return import_run.carry_out(namespace_id=namespace_id, import_id=uuid.UUID(import_id), now=timezone.now)


@job
def build_activation(namespace_id: int, engine: str, form: str, model: str) -> bool:
    """Computes the cache of the namespace's prefix, unless it is there; whether it did."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return False
    built = activation_build.build(
        Scope(namespace_id, name, WORKER),
        engine=ActivationEngine(engine),
        form=PromptForm(form),
        model=model,
        clock=timezone.now,
    )
    return built is not None


@job
def keep_up_activation() -> int:
    """Takes away activation caches that serve no longer, and has them built again; returns how many went."""
    return activation_upkeep.keep_up(now=timezone.now())


@job
def dump_cube(namespace_id: int, file_id: str) -> int:
    """Writes a namespace into a cube's file; returns how many bytes it has."""
    return cube_file_run.carry_out_dump(namespace_id=namespace_id, file_id=uuid.UUID(file_id), now=timezone.now)


@job
def load_cube(namespace_id: int, file_id: str) -> int:
    """Loads a cube's file; returns how many of its lines were dealt with."""
    return cube_file_run.carry_out_load(namespace_id=namespace_id, file_id=uuid.UUID(file_id), now=timezone.now)


@job
def forget_cube_files() -> int:
    """Deletes the files of dumps after MEMOS_CUBE_KEEP_HOURS, and what is listed of dumps and loads later; and what
    killed processes have left on this machine's disk."""
    clear_leftovers()
    return cube_file_requests.forget(now=timezone.now())


@job
def forget_imports() -> int:
    """Deletes the imports that are over and were asked for MEMOS_JOBS_KEEP_DAYS ago, and uploads that nothing uses."""
    try:
        uploads.forget(now=timezone.now())
    finally:
        deleted = import_requests.forget(now=timezone.now())
    return deleted


@job
def read_document_file(namespace_id: int, file_id: str) -> bool:
    """Reads a file that was given as a document; False when it is over, or did not become one."""
    return file_run.carry_out(namespace_id=namespace_id, file_id=uuid.UUID(file_id), now=timezone.now)


@job
def forget_document_files() -> int:
    """Deletes what came MEMOS_JOBS_KEEP_DAYS ago of files that are no document in force."""
    return files.forget(now=timezone.now())


@job
def forget_bulk_changes() -> int:
    """Deletes the changes of many memories that are over and were asked for MEMOS_JOBS_KEEP_DAYS ago."""
    return bulk.forget(now=timezone.now())


@job
def request_lost_erasures() -> int:
    """Queues again the erasures that wait for a part that was away, or whose process has ended."""
    return requests.request_lost(now=timezone.now())


@job
def back_up() -> int:
    """Makes a scheduled backup and deletes those whose time is over; returns its bytes."""
    return scheduled_backups.back_up(actor=WORKER, now=timezone.now())


@job
def request_backup() -> bool:
    """Queues a scheduled backup when one is due; whether it did."""
    return scheduled_backups.request_due(now=timezone.now())


@job
def export_training(namespace_id: int, dataset_id: str) -> int:
    """Makes a data set to train on, and asks for the adapter that waits for it; returns how many memories it has."""
    made = training_export.make_dataset(namespace_id=namespace_id, dataset_id=uuid.UUID(dataset_id), now=timezone.now)
    if made is None:
        return 0
    training_follow.start_rebuilt(made, now=timezone.now())
    return int(made.manifest.get("memories", 0))


@job
def train_adapter(namespace_id: int, adapter_id: str) -> int:
    """Trains an adapter; returns 1 when it may be activated."""
    trained = training_train.train(namespace_id=namespace_id, adapter_id=uuid.UUID(adapter_id), now=timezone.now)
    return int(trained is not None and trained.state == AdapterState.CANDIDATE)


@job
def follow_training() -> int:
    """Takes adapters out of use that have learnt what holds no longer; returns how many became stale."""
    return training_follow.follow(now=timezone.now())


@job
def forget_training_files() -> int:
    """Deletes the files of old data sets; returns of how many."""
    return training_follow.forget(now=timezone.now())
