"""Background jobs that keep the table of jobs small."""

from __future__ import annotations

from memory.services.jobs import manage

__all__ = ["forget_finished_jobs"]

forget_finished_jobs = manage.forget
