"""Defines the result of a check of the doctor."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"

START_WORKER = "start it: `make run` has one, elsewhere `manage.py qcluster`"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `status`: ok, warn or fail; `fix`: the remedy, '' if it is ok."""

    status: str
    name: str
    what: str
    fix: str = ""
