"""What a check of the doctor finds."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"

START_WORKER = "start it: `make run` has one, elsewhere `manage.py qcluster`"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check: `status` is ok, warn or fail; `fix` says what to do and is empty when it is ok."""

    status: str
    name: str
    what: str
    fix: str = ""
