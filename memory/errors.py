"""Refusals that callers are meant to read: each carries a stable code, a sentence and what to do about it."""

from __future__ import annotations

from typing import Any

from memory.enums import ErrorCode


class MemosError(Exception):
    """Base of every refusal. `status` is the HTTP status that the API answers with.

    `retry_after`: with 503, the seconds after which asking again makes sense.
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
    """The namespace was taken away while something was stored in it: what had made it came to nothing."""

    def __init__(self) -> None:
        super().__init__(
            "The namespace was taken away meanwhile: the upload, import or load that had made it came to nothing. "
            "Nothing of this request was stored; send it again.",
            detail={"field": "namespace"},
        )


class IdempotencyConflict(Conflict):
    code = ErrorCode.IDEMPOTENCY_KEY_REUSED.value


class PreconditionFailed(MemosError):
    """The row is not in the state that the caller made its change for (RFC 9110, If-Match)."""

    status = 412
    code = ErrorCode.PRECONDITION_FAILED.value


class InvalidInput(MemosError):
    status = 400
    code = ErrorCode.INVALID_REQUEST.value


class FileTooLarge(MemosError):
    """A file that is sent has more bytes than a file may have."""

    status = 413
    code = ErrorCode.PAYLOAD_TOO_LARGE.value


class NoRoom(MemosError):
    """The server's disk has no place for a file that it has to look at or to keep."""

    status = 503
    code = ErrorCode.OVERLOADED.value
    retry_after = 60


class ParserUnavailable(MemosError):
    """The server lacks what reads files of this kind; asking again does not help, so it is not a 503."""

    status = 415
    code = ErrorCode.PARSER_UNAVAILABLE.value


class EmbeddingUnavailable(MemosError):
    """The embedding provider did not answer; a query cannot be ranked by meaning until it does."""

    status = 503
    code = ErrorCode.EMBEDDING_UNAVAILABLE.value


class EmbeddingRefused(EmbeddingUnavailable):
    """The provider answered that it will not embed this text, now or later."""


class DeadlineExceeded(MemosError):
    """The request took longer than MEMOS_REQUEST_SECONDS."""

    status = 503
    code = ErrorCode.DEADLINE_EXCEEDED.value


class SearchTimedOut(MemosError):
    """A statement of a search took longer than a search may."""

    status = 503
    code = ErrorCode.SEARCH_TIMEOUT.value


class WindowUnavailable(MemosError):
    """Redis did not answer. Callers go on without the session window and say so."""

    status = 503
    code = ErrorCode.SESSION_WINDOW_UNAVAILABLE.value


class RerankUnavailable(MemosError):
    """The reranker did not answer in time, or answered what cannot be used. Queries keep the ranking without it."""

    status = 503
    code = ErrorCode.RERANK_UNAVAILABLE.value


class AdapterServerUnavailable(MemosError):
    """A server that adapters are loaded into did not answer, or would not do it."""

    status = 503
    code = ErrorCode.ADAPTER_SERVER_UNAVAILABLE.value


class RedisAway(Exception):
    """Redis did not answer, or did not a moment ago. Whoever asks it goes on without."""


class LLMUnavailable(MemosError):
    """The language model did not answer, or answered what cannot be used."""

    status = 503
    code = ErrorCode.LLM_UNAVAILABLE.value

    def __init__(self, message: str, *, detail: Any = None, retry_after: int = 1) -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class LLMBusy(LLMUnavailable):
    """This process calls the model as often at once as it may (MEMOS_LLM_CONCURRENCY)."""

    code = ErrorCode.LLM_BUSY.value


class LLMTimeout(LLMUnavailable):
    """The language model was asked and did not answer in time: it may have worked, and charged for it."""


class LLMRefused(LLMUnavailable):
    """This one request got no answer that can be used, whoever is at fault: the model may well answer others."""


class LLMContextTooLong(LLMRefused):
    """The model was sent more tokens than it takes; `detail` has the `prompt_tokens`."""

    status = 400
    code = ErrorCode.LLM_CONTEXT_TOO_LONG.value


class PassedOnError(LLMUnavailable):
    """The provider of the language model answered a request that was passed on with an error.

    `status` is the provider's. `body`: what it says, in the shape of OpenAI's API; None when that cannot be passed on.
    """

    code = ErrorCode.LLM_ERROR.value

    def __init__(self, message: str, *, status: int, body: dict[str, Any] | None = None, retry_after: int = 1) -> None:
        super().__init__(message, retry_after=retry_after)
        self.status = status
        self.body = body


class PassedOnRefusal(PassedOnError, LLMRefused):
    """The provider will not answer this one request."""


class TooManyStreams(MemosError):
    """The key has as many streams open as it may."""

    status = 503
    code = ErrorCode.TOO_MANY_STREAMS.value


class BudgetExceeded(EmbeddingUnavailable, LLMUnavailable, RerankUnavailable):
    """The call of a model might go beyond a hard budget, and was not made.

    Whoever goes on without a model that does not answer goes on without this one. `retry_seconds`: until the budget
    begins anew.
    """

    status = 429
    code = ErrorCode.BUDGET_EXCEEDED.value

    def __init__(self, message: str, *, detail: Any, retry_seconds: int) -> None:
        super().__init__(message, detail=detail)
        self.retry_seconds = retry_seconds


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
