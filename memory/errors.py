"""Refusals that callers are meant to read: each carries a stable code, a sentence and what to do about it."""

from __future__ import annotations

from typing import Any


class MemosError(Exception):
    """Base of every refusal. `status` is the HTTP status that the API answers with."""

    status = 500
    code = "internal_error"

    def __init__(self, message: str, *, detail: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class NotFound(MemosError):
    status = 404
    code = "not_found"


class Forbidden(MemosError):
    status = 403
    code = "forbidden"


class Conflict(MemosError):
    status = 409
    code = "conflict"


class IdempotencyConflict(Conflict):
    code = "idempotency_key_reused"


class PreconditionFailed(MemosError):
    """The row is not in the state that the caller made its change for (RFC 9110, If-Match)."""

    status = 412
    code = "precondition_failed"


class InvalidInput(MemosError):
    status = 400
    code = "invalid_request"


class EmbeddingUnavailable(MemosError):
    """The embedding provider did not answer; a query cannot be ranked by meaning until it does."""

    status = 503
    code = "embedding_unavailable"


class EmbeddingRefused(EmbeddingUnavailable):
    """The provider answered that it will not embed this text, now or later."""


class DeadlineExceeded(MemosError):
    """The request took longer than MEMOS_REQUEST_SECONDS."""

    status = 503
    code = "deadline_exceeded"


class SearchTimedOut(MemosError):
    """A statement of a search ran longer than MEMOS_SEARCH_TIMEOUT_MS."""

    status = 503
    code = "search_timeout"


class WindowUnavailable(MemosError):
    """Redis did not answer. Callers go on without the session window and say so."""

    status = 503
    code = "session_window_unavailable"


class RerankUnavailable(MemosError):
    """The reranker did not answer in time, or answered what cannot be used. Queries keep the ranking without it."""

    status = 503
    code = "rerank_unavailable"


class RedisAway(Exception):
    """Redis did not answer, or did not a moment ago. Whoever asks it goes on without."""


class LLMUnavailable(MemosError):
    """The language model did not answer, or answered what cannot be used."""

    status = 503
    code = "llm_unavailable"


class TooManyStreams(MemosError):
    """The key has as many streams open as it may."""

    status = 503
    code = "too_many_streams"


class AuditBroken(MemosError):
    """Audit events are missing, were changed, or were slipped in."""

    code = "audit_broken"


class BackupError(MemosError):
    """A backup or restore could not be carried out: a tool is missing, the disk is full, the server does not allow it.

    `returncode`, here and in its kinds, is the exit status of the commands.
    """

    code = "backup_failed"
    returncode = 1


class BackupDamaged(BackupError):
    """The file is no backup, was cut off or altered, or is encrypted with another key."""

    code = "backup_damaged"
    returncode = 3


class RestoreRefused(BackupError):
    """Nothing was touched: restoring here would lose something, or bring back what was forgotten."""

    status = 409
    code = "restore_refused"
    returncode = 4


class BackupUnverified(BackupError):
    """What the file restores is not what was backed up."""

    code = "backup_unverified"
    returncode = 5
