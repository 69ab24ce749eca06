"""Background jobs that delete idempotency records."""

from __future__ import annotations

from memory.services.tenancy import idempotency

__all__ = ["forget_idempotency_keys"]

forget_idempotency_keys = idempotency.forget_old
