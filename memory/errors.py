"""Errors for callers to read: each has a stable code, a sentence, and what to do about it."""

from __future__ import annotations

from typing import Any

from memory.enums import ErrorCode


class MemosError(Exception):
    """The base of all refusals; `status` is the HTTP status of the API's answer.

    With status 503, `retry_after` is the number of seconds after which a retry makes sense.
    """

    status = 500
    code = ErrorCode.INTERNAL_ERROR.value
    retry_after = 1

    def __init__(self, message: str, *, detail: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class NotFound(MemosError):
    status = 404
    code = ErrorCode.NOT_FOUND.value


class Forbidden(MemosError):
    status = 403
    code = ErrorCode.FORBIDDEN.value


class Conflict(MemosError):
    status = 409
    code = ErrorCode.CONFLICT.value


class NamespaceGone(Conflict):
    """Raised if the namespace was deleted while something was stored in it, with whatever had created it."""

    def __init__(self) -> None:
        super().__init__(
            "The namespace was taken away meanwhile: the upload, import or load that had made it came to nothing. "
            "Nothing of this request was stored; send it again.",
            detail={"field": "namespace"},
        )


class IdempotencyConflict(Conflict):
    code = ErrorCode.IDEMPOTENCY_KEY_REUSED.value


class PreconditionFailed(MemosError):
    """Raised if the row isn't in the state that the caller made its change for (RFC 9110, If-Match)."""

    status = 412
    code = ErrorCode.PRECONDITION_FAILED.value


class InvalidInput(MemosError):
    status = 400
    code = ErrorCode.INVALID_REQUEST.value


class FileTooLarge(MemosError):
    """Raised if a file that was sent has too many bytes."""

    status = 413
    code = ErrorCode.PAYLOAD_TOO_LARGE.value


class NoRoom(MemosError):
    """Raised if the server's disk has no space for a file to inspect or store."""

    status = 503
    code = ErrorCode.OVERLOADED.value
    retry_after = 60


class ParserUnavailable(MemosError):
    """Raised if the server can't read files of this kind; a retry doesn't help, so it isn't a 503."""

    status = 415
    code = ErrorCode.PARSER_UNAVAILABLE.value


class EmbeddingUnavailable(MemosError):
    """Raised if the embedding provider didn't answer, without which a query can't be ranked by meaning."""

    status = 503
    code = ErrorCode.EMBEDDING_UNAVAILABLE.value


class EmbeddingRefused(EmbeddingUnavailable):
    """Raised if the provider will never embed this text."""


class DeadlineExceeded(MemosError):
    """Raised if the request took longer than MEMOS_REQUEST_SECONDS."""

    status = 503
    code = ErrorCode.DEADLINE_EXCEEDED.value


class SearchTimedOut(MemosError):
    """Raised if a statement of a search took longer than allowed."""

    status = 503
    code = ErrorCode.SEARCH_TIMEOUT.value


class WindowUnavailable(MemosError):
    """Raised if Redis didn't answer; callers continue without the session window and say so."""

    status = 503
    code = ErrorCode.SESSION_WINDOW_UNAVAILABLE.value


class RerankUnavailable(MemosError):
    """Raised if the reranker didn't answer usably or in time; queries keep the ranking without it."""

    status = 503
    code = ErrorCode.RERANK_UNAVAILABLE.value


class AdapterServerUnavailable(MemosError):
    """Raised if a server that adapters are loaded into didn't answer or refused."""

    status = 503
    code = ErrorCode.ADAPTER_SERVER_UNAVAILABLE.value


class RedisAway(Exception):
    """Raised if Redis doesn't answer or didn't a moment ago; callers continue without it."""


class LLMUnavailable(MemosError):
    """Raised if the language model didn't answer, or not usably."""

    status = 503
    code = ErrorCode.LLM_UNAVAILABLE.value

    def __init__(self, message: str, *, detail: Any = None, retry_after: int = 1) -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class LLMBusy(LLMUnavailable):
    """Raised if this process already makes as many calls of the model as allowed (MEMOS_LLM_CONCURRENCY)."""

    code = ErrorCode.LLM_BUSY.value


class LLMTimeout(LLMUnavailable):
    """Raised if the language model didn't answer in time; it may have worked, and charged for it."""


class LLMRefused(LLMUnavailable):
    """Raised if this one request got no usable answer, for whatever reason; the model may well answer others."""


class LLMContextTooLong(LLMRefused):
    """Raised if the prompt has more tokens than the model takes; `detail` has the `prompt_tokens`."""

    status = 400
    code = ErrorCode.LLM_CONTEXT_TOO_LONG.value


class PassedOnError(LLMUnavailable):
    """Raised if the provider of the language model answered a request that was passed on with an error.

    `status` is the provider's. `body` is its error in the format of OpenAI's API, None if it can't be passed on.
    """

    code = ErrorCode.LLM_ERROR.value

    def __init__(self, message: str, *, status: int, body: dict[str, Any] | None = None, retry_after: int = 1) -> None:
        super().__init__(message, retry_after=retry_after)
        self.status = status
        self.body = body


class PassedOnRefusal(PassedOnError, LLMRefused):
    """Raised if the provider refuses this one request."""


class TooManyStreams(MemosError):
    """Raised if the key has as many open streams as allowed."""

    status = 503
    code = ErrorCode.TOO_MANY_STREAMS.value


class BudgetExceeded(EmbeddingUnavailable, LLMUnavailable, RerankUnavailable):
    """Raised instead of calling a model if the call might exceed a hard budget.

    Callers that continue without an unavailable model continue without this one, too. `retry_seconds` is the time until
    the budget's next period.
    """

    status = 429
    code = ErrorCode.BUDGET_EXCEEDED.value

    def __init__(self, message: str, *, detail: Any, retry_seconds: int) -> None:
        super().__init__(message, detail=detail)
        self.retry_seconds = retry_seconds


class AuditBroken(MemosError):
    """Raised if audit events are missing, changed or inserted."""

    code = "audit_broken"


class BackupError(MemosError):
    """Raised if a backup or restore failed: a tool is missing, the disk is full, or the server doesn't allow it.

    `returncode`, here and in its subclasses, is the exit status of the commands.
    """

    code = "backup_failed"
    returncode = 1


class BackupDamaged(BackupError):
    """Raised if the file isn't a backup, was cut off or altered, or is encrypted with another key."""

    code = "backup_damaged"
    returncode = 3


class RestoreRefused(BackupError):
    """Raised, before anything is changed, if restoring would lose something or bring back what was forgotten."""

    status = 409
    code = "restore_refused"
    returncode = 4


class BackupUnverified(BackupError):
    """Raised if the restored data differs from what was backed up."""

    code = "backup_unverified"
    returncode = 5
