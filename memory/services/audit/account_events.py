"""Records events of staff accounts in the audit log: lock-outs, ended logins, second factors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory import audit
from memory.enums import AuditEvent


def note_account(
    *, actor: str, event: AuditEvent, account: str, details: Mapping[str, Any], now: datetime, request_id: str = ""
) -> None:
    """Record that `actor` did something with a staff account, given by its name."""
    more = {"request_id": request_id} if request_id else {}
    audit.record_system(actor, event, subject=account[:200], details={**details, **more}, now=now)
