"""Diagnoses this server and names remedies. Each check is a function; none changes anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from functools import partial

from memory.services.diagnosis import background, governance, host, language, search, storage
from memory.services.diagnosis.finding import FAIL, OK, WARN, Finding

__all__ = ["FAIL", "OK", "WARN", "Finding", "diagnose"]


def diagnose(*, schedules: Collection[str], now: datetime) -> Iterator[Finding]:
    """Run every check; `schedules` are the names that must exist. Never raises: a broken check is a finding.

    While the database is unusable, checks that read tables are left out, with one finding that says so.
    """
    for check in (
        *(host.python, host.system_checks, host.open_doors),
        *(storage.redis, host.disk, search.reranking),
    ):
        yield _run_check(check)
    yield from language.language_models()
    for check in (storage.database, storage.pgvector, storage.migrations):
        finding = _run_check(check)
        yield finding
        if finding.status == FAIL:
            yield Finding(
                WARN, "everything else", "needs the database and was not looked at", "repair the database first"
            )
            return
    for check in (
        *(search.embedding_works, search.embedding_agrees, search.vectors, search.hnsw_indexes),
        *(storage.isolation, storage.counters, background.worker),
    ):
        yield _run_check(check)
    yield _run_check(partial(background.queue, now=now))
    yield _run_check(background.failures)
    yield _run_check(background.webhooks)
    yield _run_check(partial(governance.audit_log, now=now))
    yield _run_check(partial(host.keys, now=now))
    yield _run_check(partial(governance.sweep, now=now))
    yield _run_check(partial(background.schedules, wanted=schedules, now=now))
    yield _run_check(partial(storage.backups, now=now))
    yield _run_check(host.staff)


def _run_check(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # a doctor that falls over helps nobody: what broke is the finding
        name = getattr(check, "func", check).__name__.strip("_").replace("_", " ")
        return Finding(FAIL, name, f"the check itself broke: {type(error).__name__}: {error}", "repair what it names")
