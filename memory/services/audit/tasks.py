"""Background jobs that seal and verify the audit log."""

from __future__ import annotations

from datetime import datetime

from memory.errors import AuditBroken
from memory.services.audit import chain, verify

__all__ = ["seal_audit", "verify_audit"]

seal_audit = chain.seal


def verify_audit(*, now: datetime) -> int:
    """Verify the audit chain; return how many events hold. Fails when one does not, so that `doctor` reports it."""
    proof = verify.verify()
    if proof.faults:
        first = proof.faults[0]
        raise AuditBroken(
            f"The audit log does not hold: seal {first.number}: {first.what}. "
            "`manage.py verify_audit` names the events."
        )
    return proof.events
