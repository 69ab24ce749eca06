"""Background jobs that delete old deliveries."""

from __future__ import annotations

from memory.services.webhooks import log

__all__ = ["forget_webhook_deliveries"]

forget_webhook_deliveries = log.forget
