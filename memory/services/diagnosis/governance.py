"""Checks the audit log and the sweep."""

from __future__ import annotations

from datetime import datetime, timedelta

from memory.models import UpkeepMark
from memory.services.audit.verify import verify
from memory.services.diagnosis.finding import FAIL, OK, START_WORKER, WARN, Finding
from memory.services.retention.sweep import SWEEP

# The number of newest audit events that are verified here, which takes only a moment.
PROVED_EVENTS = 50_000
UNSEALED = timedelta(minutes=30)


def audit_log(*, now: datetime) -> Finding:
    proof = verify(newest=PROVED_EVENTS)
    if proof.faults:
        first = proof.faults[0]
        fix = "manage.py verify_audit names the events: restore them from a backup, and see who can write to the tables"
        return Finding(FAIL, "audit log", f"does not hold: seal {first.number}: {first.what}", fix)
    what = f"{proof.total} events sealed, the newest {proof.events} hold, {proof.waiting} wait"
    if proof.waiting_since is not None and proof.waiting_since < now - UNSEALED:
        fix = f"a transaction is open for long (see pg_stat_activity), or no worker: {START_WORKER}"
        return Finding(WARN, "audit log", f"{what} since {proof.waiting_since:%Y-%m-%d %H:%M} UTC", fix)
    return Finding(OK, "audit log", what)


def sweep(*, now: datetime) -> Finding:
    mark = UpkeepMark.objects.filter(name=SWEEP).first()
    if mark is None or mark.trusted_at is None:
        return Finding(OK, "sweep", "none yet")
    if mark.doubted_at is not None:
        jump = (
            f"from {mark.trusted_at:%Y-%m-%d %H:%M} to {mark.doubted_at:%Y-%m-%d %H:%M} UTC, now {now:%Y-%m-%d %H:%M}"
        )
        fix = "set the clock right; if it is right now, `manage.py sweep --accept-clock`, or wait a day"
        return Finding(WARN, "sweep", f"paused, nothing fades or expires: the clock went {jump}", fix)
    return Finding(OK, "sweep", f"last at {mark.trusted_at:%Y-%m-%d %H:%M} UTC")
