"""The words that rows, requests and answers share."""

from django.db.models import TextChoices


class Role(TextChoices):
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"


class Tier(TextChoices):
    """Where a memory lives; the labels are what existing clients compare with."""

    L1 = "L1", "L1 Scratchpad (Redis)"
    L2 = "L2", "L2 Semantic (Vector DB)"
    L3 = "L3", "L3 Entity Graph (Neo4j)"


class MemoryState(TextChoices):
    """Only `active` memories take part in retrieval."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class AccessScope(TextChoices):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class EmbeddingState(TextChoices):
    """A model's vectors are `building` beside the `active` ones until they are complete; then they switch."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


class AuditEvent(TextChoices):
    INGEST = "INGEST"
    QUERY = "QUERY"
    CONTEXT_PACK = "CONTEXT_PACK"
    CONDENSATION = "CONDENSATION"
    SESSION_RESET = "SESSION_RESET"
    DEV_SEED = "DEV_SEED"
    DOCUMENT_INGEST = "DOCUMENT_INGEST"
    DOCUMENT_DELETE = "DOCUMENT_DELETE"
    MEMORY_ARCHIVE = "MEMORY_ARCHIVE"
    MEMORY_RESTORE = "MEMORY_RESTORE"
    MEMORY_EDIT = "MEMORY_EDIT"
    KEY_ISSUE = "KEY_ISSUE"
    KEY_REVOKE = "KEY_REVOKE"
    REEMBED = "REEMBED"
    MEMORY_JUDGE = "MEMORY_JUDGE"
    EVALUATION_START = "EVALUATION_START"
    EVALUATION_FINISH = "EVALUATION_FINISH"
    ERASURE_REQUEST = "ERASURE_REQUEST"
    ERASURE_FINISH = "ERASURE_FINISH"


class Verdict(TextChoices):
    """What became of a memory when a question was answered. A candidate is a memory that was given a score."""

    RETURNED = "returned", "it is among the hits"
    RESTATED = "restated", "a better candidate says the same"
    VARIETY = "variety", "a list is wanted, and it is too like a hit"
    OUTRANKED = "outranked", "the hits have higher scores"
    NOT_A_CANDIDATE = "not_a_candidate", "no arm has it among its best"
    FILTERED = "filtered", "the filter leaves it out"
    RECORDED_LATER = "recorded_later", "it was recorded after `as_of`"
    ARCHIVED = "archived", "it takes no part in retrieval"


class EvaluationStatus(TextChoices):
    """A run is `queued` until a worker takes it; `failed` says in its `error` why."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class ErasureTarget(TextChoices):
    """What an erasure names."""

    MEMORIES = "memories"
    SESSION = "session"
    SPEAKER = "speaker"
    NAMESPACE = "namespace"


class ErasureStatus(TextChoices):
    """`waiting`: all is cleared that can be, and the rest is tried again; `failed` says in its `error` why."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"


class ErasedSessionState(TextChoices):
    """`rebuild`: a summary of the session went and turns are left for a new one."""

    OPEN = "open"
    REBUILD = "rebuild"
    DONE = "done"


class DocumentFormat(TextChoices):
    """How a document's text is written, and so where it may be cut."""

    TEXT = "text"
    MARKDOWN = "markdown"


class SummaryTrigger(TextChoices):
    BOOTSTRAP = "bootstrap_summary"
    NEW_MESSAGES = "new_messages_threshold"


class ProcedureKind(TextChoices):
    PROMPT = "prompt"
    TOOL = "tool"


class PackSection(TextChoices):
    """The sections of a context, in their order: what changes least between two questions comes first."""

    PROCEDURAL = "procedural"
    SUMMARY = "summary"
    WINDOW = "window"
    HITS = "hits"


class CutReason(TextChoices):
    """Why an item of a pack is not in the context."""

    OVER_BUDGET = "over_budget", "there was no room for it under max_tokens"
    IN_WINDOW = "in_window", "the window shows it"
    WINDOW_STEP = "window_step", "the summary covers it, and the window starts at a steady place"
