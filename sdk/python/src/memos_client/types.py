"""The answers of MemOS, as its schema describes them. Made by tools/client_types.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

ActivationCacheReasonEnum: TypeAlias = Literal["memory", "erased", "prefix", "asked", "budget", "lost", "interrupted"]


ActivationCacheStateEnum: TypeAlias = Literal["building", "ready", "stale"]


class ActivationLoad(TypedDict):
    id: str
    id_slot: int
    tokens: int
    load_ms: int


class AdapterFile(TypedDict):
    sha256: str
    bytes: int


class AdapterRetireRequest(TypedDict):
    delete_files: NotRequired[bool]


AdapterStateEnum: TypeAlias = Literal["training", "candidate", "active", "refused", "stale", "retired"]


class AdapterTrainingRequest(TypedDict):
    namespace: NotRequired[str]
    name: str
    dataset_id: str
    rank: NotRequired[int]
    epochs: NotRequired[int]
    learning_rate: NotRequired[float]
    batch: NotRequired[int]
    seed: NotRequired[int]


class ArmShare(TypedDict):
    raw: float
    rank: int | None
    weight: float | None
    weighted: float


class ArmStanding(TypedDict):
    raw: float | None
    rank: int | None
    of: int | None
    pool: int


class Arms(TypedDict):
    dense: ArmShare
    lexical: ArmShare


class Attempt(TypedDict):
    at: str
    status: int
    ms: int
    error: str


AuditEventEnum: TypeAlias = Literal[
    "INGEST",
    "QUERY",
    "CONTEXT_PACK",
    "CONDENSATION",
    "FACTS_EXTRACT",
    "PREFERENCES_READ",
    "SESSION_RESET",
    "DEV_SEED",
    "DOCUMENT_INGEST",
    "DOCUMENT_DELETE",
    "DOCUMENT_FILE_START",
    "DOCUMENT_FILE_FINISH",
    "MEMORY_ARCHIVE",
    "MEMORY_RESTORE",
    "MEMORY_EDIT",
    "MEMORY_SUPERSEDE",
    "MEMORY_REINSTATE",
    "MEMORY_RETIRE",
    "MEMORY_CONTRADICTION",
    "MEMORY_PIN",
    "MEMORY_UNPIN",
    "MEMORY_FEEDBACK",
    "KEY_ISSUE",
    "KEY_REVOKE",
    "REEMBED",
    "MEMORY_JUDGE",
    "MEMORY_REEMBED",
    "MEMORY_VIEW",
    "MEMORY_EXPORT",
    "ENTITY_MERGE",
    "ENTITY_SPLIT",
    "ENTITY_REBUILD",
    "TREE_REBUILD",
    "ACTIVATION_BUILD",
    "ACTIVATION_DROP",
    "ACTIVATION_EXPORT",
    "IMPORT_START",
    "IMPORT_FINISH",
    "TRAINING_EXPORT",
    "TRAINING_READ",
    "TRAINING_DROP",
    "ADAPTER_TRAIN",
    "ADAPTER_JUDGE",
    "ADAPTER_ACTIVATE",
    "ADAPTER_RETIRE",
    "ADAPTER_STALE",
    "CUBE_DUMP",
    "CUBE_DOWNLOAD",
    "CUBE_LOAD",
    "CUBE_LOAD_FINISH",
    "CUBE_EVENT",
    "EVALUATION_START",
    "EVALUATION_FINISH",
    "ERASURE_REQUEST",
    "ERASURE_FINISH",
    "POLICY_CHANGE",
    "POLICY_EXEMPTION",
    "RETENTION_DELETE",
    "INGEST_REJECT",
    "QUARANTINE",
    "QUARANTINE_RELEASE",
    "QUARANTINE_DISCARD",
    "SWEEP_PAUSE",
    "SWEEP_RESUME",
    "JOB_REPLAY",
    "JOB_DISCARD",
    "SESSION_VIEW",
    "AUDIT_EXPORT",
    "CONSOLE_PROBE",
    "CONSOLE_READ",
    "LOGIN_LOCK",
    "LOGIN_END",
    "SECOND_FACTOR_SET",
    "SECOND_FACTOR_REMOVE",
    "BACKUP",
    "RESTORE",
    "JOB_FAIL",
    "BUDGET_REACH",
    "WEBHOOK_CREATE",
    "WEBHOOK_CHANGE",
    "WEBHOOK_DELETE",
    "WEBHOOK_DISABLE",
    "USER_CREATE",
    "USER_CHANGE",
    "USER_ERASE",
    "CUBE_CREATE",
    "CUBE_CHANGE",
    "CUBE_UNREGISTER",
    "CUBE_SHARE",
    "CUBE_REVOKE",
    "KEY_OWNER",
    "PROJECT_CHANGE",
]


class AuditKept(TypedDict):
    events: int
    typed: int


BlankEnum: TypeAlias = Literal[""]


BulkChangeStateEnum: TypeAlias = Literal["dry_run", "queued", "running", "done", "failed", "discarded"]


CitedAnswerModeEnum: TypeAlias = Literal["extractive", "model"]


CitedAnswerReasonEnum: TypeAlias = Literal[
    "nothing_found", "below_relevance_floor", "nothing_quotable", "not_in_sources"
]


class Compared(TypedDict):
    base: float
    run: float
    difference: float
    low: float
    high: float


class Comparison(TypedDict):
    base: str
    run: str
    questions: int
    only_in_base: int
    only_in_run: int
    same_content: bool
    confidence: float
    resamples: int
    metrics: dict[str, Compared]
    regressions: list[str]


ComparisonOperatorEnum: TypeAlias = Literal[
    "is",
    "=",
    "is not",
    "≠",
    "in",
    "not in",
    "empty",
    "not empty",
    ">",
    "<",
    "≥",
    "≤",
    "before",
    "after",
    "contains",
    "not contains",
    "start with",
    "end with",
]


class ContentRequest(TypedDict):
    group_id: str
    content: str


class CubeContents(TypedDict):
    memories: int
    by_kind: dict[str, int]
    sessions: int
    documents: int
    entities: int
    text_bytes: int


class Gate(TypedDict):
    strict: NotRequired[bool]
    worth_threshold: NotRequired[float]
    personal_data: NotRequired[Literal["off", "redact", "quarantine"]]
    secrets: NotRequired[Literal["redact", "quarantine", "reject"]]
    injection: NotRequired[Literal["quarantine", "accept"]]


class Conflicts(TypedDict):
    settle: NotRequired[bool]


class Retrieval(TypedDict):
    relevance_floor: NotRequired[float]


class Duplicates(TypedDict):
    collapse: NotRequired[bool]


class HalfLifeDays(TypedDict):
    said: NotRequired[float]
    answered: NotRequired[float]
    episode: NotRequired[float]
    document: NotRequired[float]
    fact: NotRequired[float]
    preference: NotRequired[float]


class Decay(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Training(TypedDict):
    consent: NotRequired[bool]


class Retention(TypedDict):
    packs_days: NotRequired[int]
    evaluation_days: NotRequired[int]
    quarantine_days: NotRequired[int]


class Summary(TypedDict):
    messages: NotRequired[int]
    tokens: NotRequired[int]
    idle_seconds: NotRequired[int]


class WorkingMemory1(TypedDict):
    hours: NotRequired[int]


class Models(TypedDict):
    answer: NotRequired[str]
    summarise: NotRequired[str]
    extract: NotRequired[str]
    judge: NotRequired[str]


class Quota(TypedDict):
    memories: NotRequired[int]
    writes_per_day: NotRequired[int]


class Budget(TypedDict):
    period: NotRequired[Literal["day", "month"]]
    soft_usd: NotRequired[float]
    hard_usd: NotRequired[float]
    soft_tokens: NotRequired[int]
    hard_tokens: NotRequired[int]


class Policy(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class CubeDumpRequest(TypedDict):
    vectors: NotRequired[bool]
    quarantine: NotRequired[bool]
    audit: NotRequired[bool]


class CubeFileFault(TypedDict):
    place: str
    reason: str


CubeFileKindEnum: TypeAlias = Literal["dump", "load"]


class CubeFileOutcome(TypedDict):
    id: str
    session: str
    outcome: str
    rule: str


CubeFileStateEnum: TypeAlias = Literal["queued", "running", "done", "cancelled", "failed", "discarded"]


CubeIdsEnum: TypeAlias = Literal["auto", "keep", "new"]


CubeKindEnum: TypeAlias = Literal["textual", "activation", "parametric"]


CubeLevelEnum: TypeAlias = Literal["own", "read", "write"]


class CubeLoadRequest(TypedDict):
    file: NotRequired[bytes]
    upload: NotRequired[str]
    namespace: NotRequired[str]
    dry_run: NotRequired[bool]
    ids: NotRequired[CubeIdsEnum]
    policy: NotRequired[bool]
    procedures: NotRequired[bool]
    holds: NotRequired[bool | None]
    quarantine: NotRequired[bool]
    audit: NotRequired[bool]
    unknown_sender: NotRequired[bool]


class CubeOfHit(TypedDict):
    id: str
    name: str
    owner_id: str | None


class CubeOwner(TypedDict):
    id: str
    name: str | None


CubeSignatureEnum: TypeAlias = Literal["own", "trusted", "unknown", "none"]


DegradationEnum: TypeAlias = Literal[
    "embedding_delayed",
    "session_window_unavailable",
    "rerank_unavailable",
    "language_unread",
    "namespace_unknown",
    "gate_model_unavailable",
    "answer_by_words_only",
    "answer_cut_off",
    "llm_unavailable",
    "llm_busy",
    "llm_context_too_long",
    "budget_exceeded",
    "budget_soft_limit",
    "turn_too_long",
    "turn_not_remembered",
]


class DeletedCounts(TypedDict):
    redis_keys: int
    memories: int
    documents: int
    condensations: int
    context_packs: int
    quarantined: int
    audit: int


DeliveryStateEnum: TypeAlias = Literal["waiting", "delivered", "failed"]


DeliveryTypeEnum: TypeAlias = Literal[
    "memory.added",
    "memory.changed",
    "memory.superseded",
    "memory.reinstated",
    "memory.archived",
    "memory.restored",
    "memory.erased",
    "memory.quarantined",
    "memory.conflict",
    "document.added",
    "document.deleted",
    "session.reset",
    "summary.made",
    "job.failed",
    "budget.reached",
    "webhook.test",
]


class DiscardRequest(TypedDict):
    reason: str


class DocumentDeleted(TypedDict):
    document_id: str
    deleted: bool
    chunks: int


class DocumentFileFormRequest(TypedDict):
    namespace: NotRequired[str]
    file: bytes
    document_id: NotRequired[str]
    title: NotRequired[str]
    source: NotRequired[str]
    session_id: NotRequired[str]
    metadata: NotRequired[str]
    occurred_at: NotRequired[str | None]
    keep_original: NotRequired[bool]


DocumentFileStateEnum: TypeAlias = Literal["queued", "running", "done", "refused", "failed", "discarded"]


DocumentFileTypeEnum: TypeAlias = Literal[
    "pdf", "docx", "pptx", "xlsx", "image", "html", "markdown", "eml", "csv", "json", "text"
]


DroppedVerdictEnum: TypeAlias = Literal["restated", "variety", "irrelevant", "outranked"]


EngineEnum: TypeAlias = Literal["llamacpp", "transformers"]


EntityKindEnum: TypeAlias = Literal["person", "place", "organisation", "project", "thing"]


ErasureReceiptStatusEnum: TypeAlias = Literal["queued", "running", "waiting", "finished", "failed", "dry_run"]


class ErasureRequest(TypedDict):
    namespace: NotRequired[str]
    memory_ids: NotRequired[list[str]]
    session_id: NotRequired[str]
    speaker: NotRequired[str]
    whole_namespace: NotRequired[bool]
    confirm: NotRequired[str]
    reason: str
    dry_run: NotRequired[bool]


class DetailItem(TypedDict):
    field: str
    problem: str


ErrorCodeEnum: TypeAlias = Literal[
    "invalid_request",
    "not_authenticated",
    "forbidden",
    "not_found",
    "model_not_found",
    "previous_response_not_found",
    "model_not_configured",
    "method_not_allowed",
    "request_timeout",
    "conflict",
    "idempotency_key_reused",
    "length_required",
    "precondition_failed",
    "payload_too_large",
    "unsupported_media_type",
    "llm_context_too_long",
    "rate_limited",
    "budget_exceeded",
    "headers_too_large",
    "internal_error",
    "llm_error",
    "overloaded",
    "database_unavailable",
    "deadline_exceeded",
    "search_timeout",
    "embedding_unavailable",
    "rerank_unavailable",
    "llm_unavailable",
    "llm_busy",
    "too_many_streams",
    "session_window_unavailable",
    "parser_unavailable",
    "adapter_server_unavailable",
    "issuer_unavailable",
    "erasure_ledger_unavailable",
]


class EvaluationOptions(TypedDict):
    top_k: int
    types: list[str]
    groups: list[str]
    arms: bool


Type: TypeAlias = str


Group: TypeAlias = str


class EvaluationRequest(TypedDict):
    dataset: NotRequired[str]
    namespace: NotRequired[str]
    label: NotRequired[str]
    top_k: NotRequired[int]
    types: NotRequired[list[Type]]
    groups: NotRequired[list[Group]]
    arms: NotRequired[bool]


class EvaluationResult(TypedDict):
    group: str
    query_id: str
    type: str
    fingerprint: str
    metrics: dict[str, Any]
    context_tokens: int
    milliseconds: float


EvaluationStatusEnum: TypeAlias = Literal["queued", "running", "finished", "failed"]


EventTypeEnum: TypeAlias = Literal[
    "memory.added",
    "memory.changed",
    "memory.superseded",
    "memory.reinstated",
    "memory.archived",
    "memory.restored",
    "memory.erased",
    "memory.quarantined",
    "memory.conflict",
    "document.added",
    "document.deleted",
    "session.reset",
    "summary.made",
    "job.failed",
    "budget.reached",
]


class Exempted(TypedDict):
    changed: int


class ExemptionRequest(TypedDict):
    namespace: NotRequired[str]
    memory_ids: list[str]
    legal_hold: NotRequired[bool]
    expires_at: NotRequired[str | None]
    reason: str


FeedbackEnum: TypeAlias = Literal["useful", "wrong", "outdated"]


class FeedbackRequest(TypedDict):
    kind: FeedbackEnum
    note: NotRequired[str]


Id = TypedDict(
    "Id",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[str]],
    },
)


class Text(TypedDict):
    contains: NotRequired[str]
    icontains: NotRequired[str]


Role = TypedDict(
    "Role",
    {
        "eq": NotRequired[Literal["user", "agent", "system", "tool"]],
        "ne": NotRequired[Literal["user", "agent", "system", "tool"]],
        "in": NotRequired[list[Literal["user", "agent", "system", "tool"]]],
    },
)


InItem: TypeAlias = str


Speaker = TypedDict(
    "Speaker",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem]],
    },
)


SessionId = TypedDict(
    "SessionId",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem]],
    },
)


Tier = TypedDict(
    "Tier",
    {
        "eq": NotRequired[Literal["L1", "L2", "L3"]],
        "ne": NotRequired[Literal["L1", "L2", "L3"]],
        "in": NotRequired[list[Literal["L1", "L2", "L3"]]],
    },
)


Kind = TypedDict(
    "Kind",
    {
        "eq": NotRequired[Literal["said", "answered", "episode", "document", "fact", "preference"]],
        "ne": NotRequired[Literal["said", "answered", "episode", "document", "fact", "preference"]],
        "in": NotRequired[list[Literal["said", "answered", "episode", "document", "fact", "preference"]]],
    },
)


InItem2: TypeAlias = int


TopicId = TypedDict(
    "TopicId",
    {
        "eq": NotRequired[int],
        "ne": NotRequired[int],
        "in": NotRequired[list[InItem2]],
    },
)


Importance = TypedDict(
    "Importance",
    {
        "eq": NotRequired[float],
        "ne": NotRequired[float],
        "in": NotRequired[list[float]],
        "gt": NotRequired[float],
        "gte": NotRequired[float],
        "lt": NotRequired[float],
        "lte": NotRequired[float],
    },
)


InItem3: TypeAlias = str


OccurredAt = TypedDict(
    "OccurredAt",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem3]],
        "gt": NotRequired[str],
        "gte": NotRequired[str],
        "lt": NotRequired[str],
        "lte": NotRequired[str],
    },
)


CreatedAt = TypedDict(
    "CreatedAt",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem3]],
        "gt": NotRequired[str],
        "gte": NotRequired[str],
        "lt": NotRequired[str],
        "lte": NotRequired[str],
    },
)


UpdatedAt = TypedDict(
    "UpdatedAt",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem3]],
        "gt": NotRequired[str],
        "gte": NotRequired[str],
        "lt": NotRequired[str],
        "lte": NotRequired[str],
    },
)


Filter = TypedDict(
    "Filter",
    {
        "and": NotRequired[list["Filter"]],
        "or": NotRequired[list["Filter"]],
        "not": NotRequired["Filter"],
        "id": NotRequired[str | Id],
        "text": NotRequired[Text],
        "role": NotRequired[Literal["user", "agent", "system", "tool"] | Role],
        "speaker": NotRequired[str | Speaker],
        "session_id": NotRequired[str | SessionId],
        "tier": NotRequired[Literal["L1", "L2", "L3"] | Tier],
        "kind": NotRequired[Literal["said", "answered", "episode", "document", "fact", "preference"] | Kind],
        "topic_id": NotRequired[int | TopicId],
        "importance": NotRequired[float | Importance],
        "occurred_at": NotRequired[str | OccurredAt],
        "created_at": NotRequired[str | CreatedAt],
        "updated_at": NotRequired[str | UpdatedAt],
    },
)


class FirstToken(TypedDict):
    hit: int | None
    miss: int | None
    without: int | None


FormEnum: TypeAlias = Literal["answer", "completion"]


FormatEnum: TypeAlias = Literal["text", "markdown"]


GateDecisionEnum: TypeAlias = Literal["accept", "accept_redacted", "quarantine", "reject"]


class GroupQueryRequest(TypedDict):
    group_id: str
    query: str


HealthStatusEnum: TypeAlias = Literal["ok"]


class HistoryEvent(TypedDict):
    id: str
    event_type: AuditEventEnum
    details: dict[str, Any]
    actor: str
    request_id: str
    created_at: str


class Holder(TypedDict):
    counted: NotRequired[int | None]
    cleared: NotRequired[int]
    kept: NotRequired[int]
    left: NotRequired[int]


class ImportFault(TypedDict):
    place: str
    reason: str


ImportFormatEnum: TypeAlias = Literal["chatgpt", "claude", "gemini", "mem0", "hindsight", "pam", "pasted"]


ImportStateEnum: TypeAlias = Literal["preview", "queued", "running", "done", "cancelled", "failed", "discarded"]


class ImportTextRequest(TypedDict):
    namespace: NotRequired[str]
    format: NotRequired[ImportFormatEnum]
    speaker: NotRequired[str]
    text: NotRequired[str]
    upload: NotRequired[str]
    preview: NotRequired[bool]


class JobError(TypedDict):
    type: str
    message: str


class JobProgress(TypedDict):
    done: int
    total: int


JobStateEnum: TypeAlias = Literal["queued", "running", "done", "failed", "discarded"]


class Judged(TypedDict):
    ids: list[str]


class Judgement(TypedDict):
    id: str
    namespace: str
    query: str
    memory_id: str
    relevant: bool
    actor: str
    created_at: str


class JudgementList(TypedDict):
    judgements: list[Judgement]


class LastHit(TypedDict):
    id: str
    rank: int
    score: float


class Later(TypedDict):
    memory_id: str
    words: str
    text: str
    occurred_at: str


LinkEnum: TypeAlias = Literal["own", "rule", "stated", "apart", "staff"]


LinkKindEnum: TypeAlias = Literal["supersedes", "restates", "contradicts", "both_hold", "derived_from"]


LogicalOperatorEnum: TypeAlias = Literal["and", "or"]


ManifestItemReasonEnum: TypeAlias = Literal["over_budget", "in_window", "in_prefix", "known", "window_step"]


ManifestItemStatusEnum: TypeAlias = Literal["kept", "trimmed", "referred", "cut"]


class MarkRequest(TypedDict):
    memory_id: str
    relevant: bool


MemoryKindEnum: TypeAlias = Literal["said", "answered", "episode", "document", "fact", "preference"]


MemoryStateEnum: TypeAlias = Literal["active", "archived"]


class MergeRequest(TypedDict):
    namespace: NotRequired[str]
    source_id: str
    reason: str


class MetadataComparisonRequest(TypedDict):
    name: str
    comparison_operator: ComparisonOperatorEnum
    value: NotRequired[str | float | list[str | float] | None]


class MetadataConditionRequest(TypedDict):
    logical_operator: NotRequired[LogicalOperatorEnum]
    conditions: list[MetadataComparisonRequest]


class NamespaceQueue(TypedDict):
    queued: int
    running: int
    oldest_at: str | None
    namespace: str | None


class NewWebhook(TypedDict):
    id: str
    namespace: str
    url: str
    types: list[EventTypeEnum]
    description: str
    include_text: bool
    sends_text: bool
    enabled: bool
    disabled_reason: str | None
    failures: int
    failing_since: str | None
    former_secret_until: str | None
    created_by: str
    created_at: str
    updated_at: str
    secret: str


NotesEnum: TypeAlias = Literal["no_vector"]


NullEnum: TypeAlias = None


class Opinion(TypedDict):
    kind: FeedbackEnum
    note: str
    actor: str
    created_at: str


class OptionalReasonRequest(TypedDict):
    reason: NotRequired[str]


OriginEnum: TypeAlias = Literal["default", "environment", "namespace"]


OriginsEnum: TypeAlias = Literal["dialogue", "memory", "supersession", "correction"]


PackSectionEnum: TypeAlias = Literal["procedural", "durable", "summary", "window", "hits"]


class PackTool(TypedDict):
    name: str
    version: str
    description: str
    parameters: dict[str, Any]


class Decay1(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy1(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay1]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class PatchedCubeChangeRequest(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str]
    owner_id: NotRequired[str | None]
    kinds: NotRequired[list[CubeKindEnum]]
    policy: NotRequired[Policy1]


RemoveMetadatum: TypeAlias = str


AddTag: TypeAlias = str


RemoveTag: TypeAlias = str


class PatchedEditWhereRequest(TypedDict):
    reason: NotRequired[str]
    namespace: NotRequired[str]
    filter: NotRequired[Filter]
    all: NotRequired[bool]
    dry_run: NotRequired[bool]
    metadata: NotRequired[dict[str, Any]]
    set_metadata: NotRequired[dict[str, Any]]
    remove_metadata: NotRequired[list[RemoveMetadatum]]
    add_tags: NotRequired[list[AddTag]]
    remove_tags: NotRequired[list[RemoveTag]]
    importance: NotRequired[float]
    pinned: NotRequired[bool]


class PatchedMemoryChangeRequest(TypedDict):
    reason: NotRequired[str]
    text: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    speaker: NotRequired[str]
    importance: NotRequired[float]
    occurred_at: NotRequired[str]
    reviewed: NotRequired[bool]


Namespace: TypeAlias = str


class PatchedUserChangeRequest(TypedDict):
    name: NotRequired[str]
    display_name: NotRequired[str]
    preferences: NotRequired[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]
    namespaces: NotRequired[list[Namespace]]


class PatchedWebhookChangeRequest(TypedDict):
    url: NotRequired[str]
    types: NotRequired[list[EventTypeEnum]]
    description: NotRequired[str]
    include_text: NotRequired[bool]
    enabled: NotRequired[bool]


class Decay2(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy3(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay2]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class Decay3(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Overrides(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay3]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class PolicyEffect(TypedDict):
    archive: int
    decayed: int
    expired: int
    packs: int
    evaluations: int
    quarantined: int


class Decay4(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy4(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay4]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class PolicyPreviewRequest(TypedDict):
    namespace: NotRequired[str]
    policy: Policy4


class Decay5(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy5(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay5]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class Decay6(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy6(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay6]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    extract: NotRequired[Literal["off", "facts"]]
    training: NotRequired[Training]
    ttl_days: NotRequired[int]
    retention: NotRequired[Retention]
    legal_hold: NotRequired[bool]
    summary: NotRequired[Summary]
    working_memory: NotRequired[WorkingMemory1]
    models: NotRequired[Models]
    quota: NotRequired[Quota]
    budget: NotRequired[Budget]


class PolicyPutRequest(TypedDict):
    namespace: NotRequired[str]
    policy: Policy6
    reason: NotRequired[str]


class PolicyValue(TypedDict):
    key: str
    value: bool | float | str
    origin: OriginEnum
    default: bool | float | str
    setting: str
    unit: str
    range: str
    help: str


PredicateEnum: TypeAlias = Literal[
    "works_at",
    "studies_at",
    "lives_in",
    "comes_from",
    "member_of",
    "works_on",
    "family",
    "friend_of",
    "colleague_of",
    "owns",
    "part_of",
    "likes",
    "mentioned_with",
]


PriorityEnum: TypeAlias = Literal["interactive", "normal", "bulk"]


class PriorityQueue(TypedDict):
    queued: int
    running: int
    oldest_at: str | None
    priority: PriorityEnum


class Prompt(TypedDict):
    name: str
    version: str
    description: str
    text: str


class PromptEntry(TypedDict):
    name: str
    version: str
    description: str
    namespace: str | None
    text: NotRequired[str]
    sections: NotRequired[list[PackSectionEnum]]


class QuarantineReason(TypedDict):
    rule: str
    says: str
    score: float
    spans: int


QuarantineStateEnum: TypeAlias = Literal["pending", "released", "discarded"]


class QuarantinedDocument(TypedDict):
    document_id: str
    title: str
    source: str
    format: FormatEnum


class QueryRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    dry_run: NotRequired[bool]
    explain: NotRequired[bool]
    min_relevance: NotRequired[float | None]
    cubes: NotRequired[list[str]]
    session_id: NotRequired[str]
    max_tokens: NotRequired[int | None]
    lean: NotRequired[bool]


class QuestionRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    cubes: NotRequired[list[str]]
    session_id: NotRequired[str]
    model: NotRequired[str | None]
    max_tokens: NotRequired[int]
    response_schema: NotRequired[dict[str, Any] | None]
    remember: NotRequired[bool]


class Queue(TypedDict):
    name: str
    count: int


ReadyStatusEnum: TypeAlias = Literal["ok", "degraded", "unavailable"]


class Reason(TypedDict):
    rule: str
    says: str


class ReasonRequest(TypedDict):
    reason: str


RefusalEnum: TypeAlias = Literal[
    "empty",
    "unsupported",
    "mislabelled",
    "encoding",
    "encrypted",
    "damaged",
    "bomb",
    "unsafe_xml",
    "too_large",
    "no_text",
    "memory",
    "cpu_time",
    "wall_time",
    "crashed",
    "parser_missing",
    "ocr_missing",
    "gate",
    "outdated",
    "erased",
    "refused",
]


class ReparseRequest(TypedDict):
    namespace: NotRequired[str]


class Replayed(TypedDict):
    replayed: int


class ResetDone(TypedDict):
    ok: bool
    dry_run: bool
    namespace: str
    session_id: str
    reset_at: str
    deleted_counts: DeletedCounts
    degraded: list[DegradationEnum]


class ResetRequest(TypedDict):
    namespace: NotRequired[str]
    session_id: str
    confirm: NotRequired[bool]
    dry_run: NotRequired[bool]
    clear_audit: NotRequired[bool]


Statement: TypeAlias = int


class RestoreRequest(TypedDict):
    reason: str
    version_id: NotRequired[str | None]
    undo_supersede: NotRequired[bool]
    statements: NotRequired[list[Statement]]


class Retired(TypedDict):
    start: int
    end: int
    text: str
    by: str
    by_start: int
    by_end: int
    reason: str
    confidence: float
    valid_to: str | None
    retired_at: str
    withdrawn_at: str | None


class RetrievalSettingRequest(TypedDict):
    top_k: int
    score_threshold: NotRequired[float | None]


ReviewEnum: TypeAlias = Literal["wrong", "outdated", "contradiction", "suspected"]


class ReviewRequest(TypedDict):
    note: NotRequired[str]


RoleEnum: TypeAlias = Literal["user", "agent", "system", "tool"]


RoleNameEnum: TypeAlias = Literal["user", "agent", "system", "tool", "assistant", "developer", "function"]


class RotationRequest(TypedDict):
    keep_hours: NotRequired[int]


RuleEnum: TypeAlias = Literal["decayed", "expired"]


class Schedule(TypedDict):
    name: str
    every_minutes: int
    last_run_at: str | None
    next_run_at: str | None
    state: str | None
    seconds: float | None
    last_error: JobError | None
    failures_in_a_row: int
    runs: int
    runs_since: str
    late: bool


class SearchAcrossRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    dry_run: NotRequired[bool]
    explain: NotRequired[bool]
    min_relevance: NotRequired[float | None]
    cubes: NotRequired[list[str]]


class SearchDefaultsRequest(TypedDict):
    namespace: NotRequired[str]
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    dry_run: NotRequired[bool]
    explain: NotRequired[bool]
    min_relevance: NotRequired[float | None]


class SearchProof(TypedDict):
    searched: int
    found_before: int
    found_after: int


class Seeded(TypedDict):
    ok: bool
    namespace: str
    session_id: str
    inserted: int
    memory_ids: list[str]


ShareLevelEnum: TypeAlias = Literal["read", "write"]


class ShareRequest(TypedDict):
    user_id: NotRequired[str]
    key: NotRequired[str]
    level: ShareLevelEnum
    expires_at: NotRequired[str | None]


ShownByEnum: TypeAlias = Literal["statement", "choices"]


class SignalShare(TypedDict):
    raw: float
    weight: float | None
    weighted: float


class Skipped(TypedDict):
    field: str
    says: str


SourceEnum: TypeAlias = Literal["hot", "cold"]


class SplitRequest(TypedDict):
    namespace: NotRequired[str]
    alias_ids: NotRequired[list[str]]
    mention_ids: NotRequired[list[str]]
    reason: str


class Stats(TypedDict):
    total_memories: int
    active_contexts: int
    token_savings: int
    compression_ratio: float


class StoredDocument(TypedDict):
    document_id: str
    version: int
    chunks: int
    characters: int
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]
    quarantine_id: str | None
    degraded: list[DegradationEnum]


class Strength(TypedDict):
    value: float
    importance: float
    decay: float
    use: float
    age_days: float
    half_life_days: float


class SupersedeRequest(TypedDict):
    reason: str
    by: NotRequired[str | None]
    text: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    occurred_at: NotRequired[str | None]


class TakenIn(TypedDict):
    accepted: bool
    verdict: GateDecisionEnum
    memory_id: str | None
    document_id: str | None
    reasons: list[Reason]
    degraded: list[DegradationEnum]


TargetEnum: TypeAlias = Literal["memories", "session", "speaker", "namespace"]


TierEnum: TypeAlias = Literal["L1", "L2", "L3"]


class Timeline(TypedDict):
    id: str
    memory_id: str
    alias_id: str
    session_id: str
    speaker: str
    spoke: bool
    start: int
    end: int
    text: str
    occurred_at: str
    pinned: bool


class Told(TypedDict):
    memory_id: str
    role: RoleEnum
    speaker: str
    text: str
    occurred_at: str
    suspected: NotRequired[bool]


class ToldEvent(TypedDict):
    id: str
    type: EventTypeEnum
    timestamp: str
    namespace: str
    actor: str
    request_id: str | None
    data: dict[str, Any]


ToolTypeEnum: TypeAlias = Literal["http_api", "function"]


class Topic(TypedDict):
    topic_id: int
    label: str
    memories: int


TrainingDatasetStateEnum: TypeAlias = Literal["queued", "running", "done", "stale", "dropped", "failed", "discarded"]


class TrainingExportRequest(TypedDict):
    namespace: NotRequired[str]
    origins: NotRequired[list[OriginsEnum]]
    min_importance: NotRequired[float]
    max_lines: NotRequired[int]


class TrainingFile(TypedDict):
    lines: int
    bytes: int
    sha256: str


class TreeRebuildAnswer(TypedDict):
    job_id: str


class TreeRebuildRequest(TypedDict):
    namespace: NotRequired[str]


class TriggerDetails(TypedDict):
    source: NotRequired[str]
    strategy: NotRequired[str]
    schema: NotRequired[str]
    new_memory_ids: NotRequired[list[str]]
    new_message_count: NotRequired[int]
    from_turn: NotRequired[int]
    to_turn: NotRequired[int]


TriggerReasonEnum: TypeAlias = Literal[
    "bootstrap_summary", "new_messages_threshold", "new_tokens_threshold", "idle_session", "stale_source"
]


class UnlearntAdapter(TypedDict):
    id: str
    name: str
    model: str


class Upload(TypedDict):
    id: str
    namespace: str
    name: str
    bytes: int
    sha256: str | None
    part_bytes: int
    parts: int
    arrived: int
    missing: list[int]
    used_by: str | None
    created_at: str
    expires_at: str


class UploadStartRequest(TypedDict):
    namespace: NotRequired[str]
    name: str
    bytes: int
    sha256: NotRequired[str]


class Usage(TypedDict):
    prompt: int | None
    completion: int | None
    cached: int | None


class UsageTotal(TypedDict):
    day: NotRequired[str]
    key: NotRequired[str | None]
    namespace: NotRequired[str | None]
    purpose: NotRequired[str]
    model: NotRequired[str]
    calls: int
    failed: int
    unpriced: int
    prompt_tokens: int
    cached_tokens: int
    cached_share: float
    completion_tokens: int
    cost_usd: float


class User(TypedDict):
    id: str
    namespace: str
    name: str
    display_name: str
    preferences: dict[str, Any]
    metadata: dict[str, Any]
    namespaces: list[str]
    revision: int
    created_by: str
    created_at: str
    updated_at: str


class UserCreateRequest(TypedDict):
    namespace: NotRequired[str]
    name: str
    display_name: NotRequired[str]
    preferences: NotRequired[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]
    namespaces: NotRequired[list[Namespace]]


class UserEraseRequest(TypedDict):
    reason: str
    confirm: NotRequired[str]
    dry_run: NotRequired[bool]


class UserErasurePart(TypedDict):
    id: str | None
    namespace: str
    target: TargetEnum
    found: int
    status: ErasureReceiptStatusEnum


class UserList(TypedDict):
    users: list[User]
    next_cursor: str | None


VerbEnum: TypeAlias = Literal["archive", "edit", "restore"]


VerdictEnum: TypeAlias = Literal[
    "returned",
    "restated",
    "variety",
    "irrelevant",
    "outranked",
    "not_a_candidate",
    "filtered",
    "recorded_later",
    "not_holding",
    "archived",
]


class Version(TypedDict):
    id: str
    revision: int | None
    text: str
    metadata: dict[str, Any]
    speaker: str | None
    occurred_at: str | None
    reason: str
    actor: str
    replaced_at: str


class Waiting(TypedDict):
    priorities: list[PriorityQueue]
    namespaces: list[NamespaceQueue]
    turns: int


class Webhook(TypedDict):
    id: str
    namespace: str
    url: str
    types: list[EventTypeEnum]
    description: str
    include_text: bool
    sends_text: bool
    enabled: bool
    disabled_reason: str | None
    failures: int
    failing_since: str | None
    former_secret_until: str | None
    created_by: str
    created_at: str
    updated_at: str


class WebhookCreateRequest(TypedDict):
    namespace: NotRequired[str]
    url: str
    types: NotRequired[list[EventTypeEnum]]
    description: NotRequired[str]
    include_text: NotRequired[bool]


class WebhookList(TypedDict):
    webhooks: list[Webhook]
    next_cursor: str | None


class WhyRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    memory_id: str


class WordsProof(TypedDict):
    searched: int
    said_by_others: int
    memory_ids: list[str]
    found: dict[str, int]
    left: int


class WorkingMemory(TypedDict):
    l1_window: list[Told]
    session_summary: str
    session_summary_id: str | None


class ActivationBuildAnswer(TypedDict):
    job_id: str
    engine: EngineEnum
    form: FormEnum
    model: str
    prefix_sha256: str
    prefix_tokens: int
    memory_ids: list[str]


class ActivationBuildRequest(TypedDict):
    engine: NotRequired[EngineEnum]
    form: NotRequired[FormEnum]
    model: NotRequired[str]


class ActivationCache(TypedDict):
    id: str
    engine: EngineEnum
    model: str
    form: FormEnum
    prefix_sha256: str
    state: ActivationCacheStateEnum
    reason: ActivationCacheReasonEnum | NullEnum
    file: str
    folder_id: str
    bytes: int
    tokens: int
    build_ms: int | None
    uses: int
    memory_ids: list[str]
    actor: str
    created_at: str
    written_at: str | None
    used_at: str | None


class ActivationFigures(TypedDict):
    days: int
    calls: int
    hits: int
    hit_rate: float | None
    cached_tokens: int
    ttft_ms: FirstToken


class ActivationList(TypedDict):
    caches: list[ActivationCache]
    figures: ActivationFigures
    next_cursor: str | None


class Adapter(TypedDict):
    id: str
    namespace: str
    name: str
    model: str
    state: AdapterStateEnum
    problem: str | None
    dataset_id: str
    options: dict[str, Any]
    base_model: str
    base_sha256: str
    files: dict[str, AdapterFile]
    metrics: dict[str, Any]
    refusals: list[str]
    served_by: list[str]
    stale: dict[str, int]
    rebuild: bool
    erasures: list[str]
    actor: str
    created_at: str
    trained_at: str | None
    activated_at: str | None
    ended_at: str | None


class AdapterList(TypedDict):
    adapters: list[Adapter]
    next_cursor: str | None


class Alias(TypedDict):
    id: str
    name: str
    kind: EntityKindEnum
    link: LinkEnum
    mentions: int


class ArchiveWhereRequest(TypedDict):
    reason: str
    namespace: NotRequired[str]
    filter: NotRequired[Filter]
    all: NotRequired[bool]
    dry_run: NotRequired[bool]


class Archived(TypedDict):
    id: str
    namespace: str
    revision: int
    state: MemoryStateEnum
    importance: float
    pinned: bool
    review: ReviewEnum | NullEnum
    occurred_at: str
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    changed: list[str]
    degraded: list[DegradationEnum]
    verdict: NotRequired[GateDecisionEnum]
    reasons: NotRequired[list[Reason]]
    erased: bool
    to_erase: str


class AuditEvent(TypedDict):
    id: str
    namespace: str
    session_id: str
    event_type: AuditEventEnum
    details: dict[str, Any]
    actor: str
    created_at: str


class AuditList(TypedDict):
    events: list[AuditEvent]


class BatchQuestionRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    dry_run: NotRequired[bool]
    explain: NotRequired[bool]
    min_relevance: NotRequired[float | None]


class Breakpoint(TypedDict):
    section: PackSectionEnum
    characters: int
    tokens: int


class ChangeList(TypedDict):
    changes: list[ToldEvent]
    next_cursor: str
    has_more: bool


class Changed(TypedDict):
    id: str
    namespace: str
    revision: int
    state: MemoryStateEnum
    importance: float
    pinned: bool
    review: ReviewEnum | NullEnum
    occurred_at: str
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    changed: list[str]
    degraded: list[DegradationEnum]
    verdict: NotRequired[GateDecisionEnum]
    reasons: NotRequired[list[Reason]]


class Citation(TypedDict):
    namespace: NotRequired[str]
    cube: NotRequired[CubeOfHit | None]
    n: int
    memory_id: str
    quote: str
    speaker: str
    occurred_at: str
    place: str
    marked: bool
    at: int | None
    supported: bool


class Condensation(TypedDict):
    id: str
    namespace: str
    session_id: str
    version: str
    number: int
    method: str
    tokenizer: str
    trigger_reason: TriggerReasonEnum
    trigger_details: TriggerDetails
    source_memory_ids: list[str]
    condensed_text: str
    item_sources: dict[str, list[list[str]]]
    token_original: int
    token_condensed: int
    created_at: str


class CondensationList(TypedDict):
    condensations: list[Condensation]


class Cube(TypedDict):
    id: str
    name: str
    description: str
    namespace: str
    owner: CubeOwner | None
    kinds: list[CubeKindEnum]
    level: CubeLevelEnum
    revision: int
    created_by: str
    created_at: str
    updated_at: str


class CubeCreateRequest(TypedDict):
    namespace: str
    name: str
    description: NotRequired[str]
    owner_id: NotRequired[str | None]
    kinds: NotRequired[list[CubeKindEnum]]


class CubeDetail(TypedDict):
    id: str
    name: str
    description: str
    namespace: str
    owner: CubeOwner | None
    kinds: list[CubeKindEnum]
    level: CubeLevelEnum
    revision: int
    created_by: str
    created_at: str
    updated_at: str
    contents: CubeContents
    policy_version: int | None
    policy: Policy | None
    models: dict[str, Any] | None


class CubeFile(TypedDict):
    id: str
    namespace: str
    kind: CubeFileKindEnum
    state: CubeFileStateEnum
    name: str
    bytes: int
    sha256: str
    dry_run: bool
    options: dict[str, Any]
    manifest: dict[str, Any] | None
    signature: CubeSignatureEnum | NullEnum
    done: int
    total: int
    counts: dict[str, dict[str, int]]
    listed: list[CubeFileOutcome]
    faults: list[CubeFileFault]
    problem: str | None
    downloadable: bool
    actor: str
    created_at: str
    finished_at: str | None


class CubeFileList(TypedDict):
    files: list[CubeFile]
    next_cursor: str | None


class CubeList(TypedDict):
    cubes: list[Cube]
    next_cursor: str | None


class CubeShare(TypedDict):
    user_id: str
    user_name: str | None
    level: ShareLevelEnum
    expires_at: str | None
    expired: bool
    created_by: str
    created_at: str


class CubeShareList(TypedDict):
    shares: list[CubeShare]


class Delivery(TypedDict):
    id: str
    webhook_id: str
    event_id: str
    type: DeliveryTypeEnum
    state: DeliveryStateEnum
    attempts: int
    tries: list[Attempt]
    answer: str
    next_attempt_at: str | None
    created_at: str
    finished_at: str | None


class DeliveryList(TypedDict):
    deliveries: list[Delivery]
    next_cursor: str | None


class DiagnosedParts(TypedDict):
    arms: NotRequired[Arms]
    signals: NotRequired[dict[str, SignalShare]]


class DiagnosisDetails(TypedDict):
    considered: NotRequired[int]
    relevance: NotRequired[float]
    restated_by: NotRequired[list[str]]
    other: NotRequired[str | None]
    last_hit: NotRequired[LastHit]
    missing: NotRequired[float]
    differences: NotRequired[dict[str, float]]
    dense: NotRequired[ArmStanding]
    lexical: NotRequired[ArmStanding]
    failed: NotRequired[list[Filter]]
    as_of: NotRequired[str]
    created_at: NotRequired[str]
    occurred_at: NotRequired[str]
    valid_from: NotRequired[str | None]
    valid_to: NotRequired[str | None]
    superseded_by: NotRequired[str | None]
    superseded_at: NotRequired[str | None]


class DocumentChunk(TypedDict):
    memory_id: str
    index: int
    start: int
    end: int
    heading: str
    page: int | None
    last_page: int | None
    table: str
    text: str
    tokens: int
    state: MemoryStateEnum


class DocumentFile(TypedDict):
    id: str
    namespace: str
    document_id: str
    document_version: int | None
    state: DocumentFileStateEnum
    percent: int
    refusal: RefusalEnum | BlankEnum
    problem: str
    notes: list[str]
    name: str
    type: DocumentFileTypeEnum
    bytes: int
    title: str
    source: str
    session_id: str | None
    metadata: dict[str, Any]
    keep_original: bool
    has_original: bool
    parser: str
    pages: int | None
    tables: int | None
    characters: int | None
    chunks: int | None
    seconds: float | None
    peak_bytes: int | None
    verdict: GateDecisionEnum | BlankEnum
    reasons: list[Reason]
    quarantine_id: str | None
    degraded: list[DegradationEnum]
    actor: str
    occurred_at: str | None
    created_at: str
    asked_at: str
    finished_at: str | None


class DocumentFileList(TypedDict):
    files: list[DocumentFile]
    next_cursor: str | None


class DocumentRequest(TypedDict):
    namespace: NotRequired[str]
    document_id: NotRequired[str]
    title: NotRequired[str]
    text: str
    format: NotRequired[FormatEnum]
    source: NotRequired[str]
    session_id: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    data: NotRequired[dict[str, Any]]
    occurred_at: NotRequired[str | None]


class DocumentRow(TypedDict):
    document_id: str
    version: int
    title: str
    source: str
    format: FormatEnum
    session_id: str | None
    metadata: dict[str, Any]
    characters: int
    chunk_count: int
    occurred_at: str
    created_at: str
    updated_at: str


class DocumentWhole(TypedDict):
    document_id: str
    version: int
    title: str
    source: str
    format: FormatEnum
    session_id: str | None
    metadata: dict[str, Any]
    characters: int
    chunk_count: int
    occurred_at: str
    created_at: str
    updated_at: str
    file_id: str | None
    pending_embeddings: int
    data: dict[str, Any]


class Dropped(TypedDict):
    arms: Arms
    signals: dict[str, SignalShare]
    id: str
    rank: int
    final: float
    verdict: DroppedVerdictEnum
    needed: float
    other: str | None
    reason: str


class DueMemory(TypedDict):
    memory_id: str
    rule: RuleEnum
    reason: str
    kind: MemoryKindEnum
    strength: Strength


class Edge(TypedDict):
    source: str
    predicate: PredicateEnum
    target: str
    detail: str
    count: int
    evidence: list[str]
    valid_from: str | None
    valid_to: str | None


class Entity(TypedDict):
    id: str
    name: str
    kind: EntityKindEnum
    mentions: int
    first_at: str | None
    last_at: str | None


class EntityChanged(TypedDict):
    entity_id: str
    name: str
    kind: EntityKindEnum


class EntityDetail(TypedDict):
    entity: Entity
    aliases: list[Alias]
    edges: list[Edge]
    neighbours: list[Entity]
    timeline: list[Timeline]
    next_cursor: str | None


class EntityList(TypedDict):
    entities: list[Entity]
    next_cursor: str | None


class ErrorBody(TypedDict):
    code: ErrorCodeEnum
    message: str
    detail: list[DetailItem] | dict[str, Any] | None
    request_id: str


class EvaluationRun(TypedDict):
    id: str
    status: EvaluationStatusEnum
    namespace: str | None
    dataset: str | None
    label: str
    options: EvaluationOptions
    content_digest: str
    configuration: dict[str, Any]
    metrics: dict[str, Any]
    notes: list[str]
    error: str
    actor: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class EvaluationRunDetail(TypedDict):
    id: str
    status: EvaluationStatusEnum
    namespace: str | None
    dataset: str | None
    label: str
    options: EvaluationOptions
    content_digest: str
    configuration: dict[str, Any]
    metrics: dict[str, Any]
    notes: list[str]
    error: str
    actor: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    results: list[EvaluationResult] | None


class Explanation(TypedDict):
    arms: Arms
    signals: dict[str, SignalShare]
    id: str
    rank: int
    final: float
    relevance: float
    method: str
    restated_by: list[str]
    reason: str


class Graph(TypedDict):
    nodes: list[Entity]
    edges: list[Edge]


class Health(TypedDict):
    status: HealthStatusEnum


class HitMetadata(TypedDict):
    role: RoleEnum
    speaker: str
    session_id: str
    turn: int
    occurred_at: str
    created_at: str
    overlap: float
    final_score: float
    rerank_score: float
    later: NotRequired[list[Later]]
    suspected: NotRequired[bool]
    retired_statements: NotRequired[list[list[int]]]


class Import(TypedDict):
    id: str | None
    namespace: str
    state: ImportStateEnum
    name: str
    format: ImportFormatEnum
    speaker: str
    bytes: int
    problem: str | None
    conversations: int
    messages: int
    turns: int
    first_at: str | None
    last_at: str | None
    left_out: dict[str, int]
    parts_left_out: dict[str, int]
    unreadable: int
    faults: list[ImportFault]
    notes: list[str]
    dealt_with: int
    new: int
    redacted: int
    present: int
    gone: int
    quarantined: int
    rejected: int
    degraded: list[DegradationEnum]
    actor: str
    created_at: str
    finished_at: str | None
    gate: dict[str, Any] | None
    judged: int | None
    complete: bool | None


class ImportFileRequest(TypedDict):
    namespace: NotRequired[str]
    format: NotRequired[ImportFormatEnum]
    speaker: NotRequired[str]
    file: bytes
    preview: NotRequired[bool]


class ImportList(TypedDict):
    imports: list[Import]
    next_cursor: str | None


class Job(TypedDict):
    id: str
    kind: str
    namespace: str | None
    schedule: str | None
    subject: list[str]
    priority: PriorityEnum
    state: JobStateEnum
    attempts: int
    progress: JobProgress | None
    error: JobError | None
    reason: str
    queued_at: str
    started_at: str | None
    heartbeat_at: str | None
    finished_at: str | None


class JobList(TypedDict):
    jobs: list[Job]
    next_cursor: str | None


class JudgementsRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    marks: list[MarkRequest]


class KnowledgeError(TypedDict):
    error_code: NotRequired[int]
    error_msg: NotRequired[str]
    error: ErrorBody


class Link(TypedDict):
    memory_id: str
    kind: LinkKindEnum
    other_id: str
    reason: str
    confidence: float
    actor: str
    created_at: str


class ManifestItem(TypedDict):
    id: str
    tokens: int
    status: ManifestItemStatusEnum
    reason: ManifestItemReasonEnum | NullEnum


class ManifestSection(TypedDict):
    section: PackSectionEnum
    tokens: int
    items: list[ManifestItem]


class Memory(TypedDict):
    id: str
    namespace: str
    revision: int
    state: MemoryStateEnum
    importance: float
    pinned: bool
    review: ReviewEnum | NullEnum
    occurred_at: str
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    kind: MemoryKindEnum
    sources: list[str]
    session_id: str
    turn: int
    role: RoleEnum
    speaker: str
    text: str
    metadata: dict[str, Any]
    tier: TierEnum
    tokens: int
    retired_statements: list[list[int]]
    created_at: str


class MemoryList(TypedDict):
    memories: list[Memory]
    next_cursor: str | None


class MessageOutcome(TypedDict):
    memory_id: str | None
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]
    field: str


class MessageRequest(TypedDict):
    role: RoleNameEnum
    content: NotRequired[str | list[str | dict[str, Any]] | dict[str, Any] | None]
    name: NotRequired[str | None]


class Pipeline(TypedDict):
    queues: list[Queue]
    waiting: Waiting
    schedules: list[Schedule]
    recent_condensations: list[Condensation]


class Policy2(TypedDict):
    namespace: str
    version: int
    policy: Policy3
    overrides: Overrides
    values: list[PolicyValue]
    problems: dict[str, str]
    reason: str
    updated_by: str
    updated_at: str | None


class PolicyPreviewed(TypedDict):
    namespace: str
    policy: Policy5
    active_memories: int
    would: PolicyEffect
    without_change: PolicyEffect
    memories: list[DueMemory]


class ProceduralMemory(TypedDict):
    prompt: Prompt | None
    tools: list[PackTool]


class ProfileLine(TypedDict):
    memory_id: str
    namespace: str
    text: str
    attitude: str
    object: str
    wanted: bool
    scope: str
    strength: float
    shown_by: ShownByEnum
    evidence: list[str]
    valid_from: str
    valid_to: str | None
    superseded_by: str | None
    revision: int


class QuarantinedRow(TypedDict):
    id: str
    namespace: str
    session_id: str | None
    role: RoleEnum
    speaker: str
    document: QuarantinedDocument | None
    characters: int
    rule: str
    reasons: list[QuarantineReason]
    confidence: float
    state: QuarantineStateEnum
    reviewer: str
    note: str
    reviewed_at: str | None
    occurred_at: str
    created_at: str
    excerpt: str


class QuarantinedWhole(TypedDict):
    id: str
    namespace: str
    session_id: str | None
    role: RoleEnum
    speaker: str
    document: QuarantinedDocument | None
    characters: int
    rule: str
    reasons: list[QuarantineReason]
    confidence: float
    state: QuarantineStateEnum
    reviewer: str
    note: str
    reviewed_at: str | None
    occurred_at: str
    created_at: str
    text: str
    metadata: dict[str, Any]


class Ready(TypedDict):
    status: ReadyStatusEnum
    checks: dict[str, str]


class Recalled(TypedDict):
    content: str
    source: SourceEnum
    score: float
    why: str


class Record(TypedDict):
    content: str
    score: float
    title: str
    metadata: HitMetadata


class Records(TypedDict):
    records: list[Record]
    degraded: list[DegradationEnum]


class RememberedTurn(TypedDict):
    memory_id: str | None
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]
    role: RoleEnum


class RerankDebug(TypedDict):
    method: str
    components: dict[str, float]
    explanation: Explanation


class RetrievalRequest(TypedDict):
    knowledge_id: str
    query: str
    retrieval_setting: RetrievalSettingRequest
    metadata_condition: NotRequired[MetadataConditionRequest | None]


class Reviewed(TypedDict):
    id: str
    namespace: str
    session_id: str | None
    role: RoleEnum
    speaker: str
    document: QuarantinedDocument | None
    characters: int
    rule: str
    reasons: list[QuarantineReason]
    confidence: float
    state: QuarantineStateEnum
    reviewer: str
    note: str
    reviewed_at: str | None
    occurred_at: str
    created_at: str
    text: str
    metadata: dict[str, Any]
    degraded: list[DegradationEnum]


class SearchBatchRequest(TypedDict):
    questions: list[BatchQuestionRequest | Any]
    defaults: NotRequired[SearchDefaultsRequest]


class SessionTopics(TypedDict):
    session_id: str
    title: str
    memories: int
    topics: list[Topic]


class Tool(TypedDict):
    name: str
    endpoint: str
    type: ToolTypeEnum
    purpose: str
    namespace: str | None
    version: NotRequired[str]
    description: NotRequired[str]
    parameters: NotRequired[dict[str, Any]]


class ToolRegistry(TypedDict):
    tools: list[Tool]


class TrainingDataset(TypedDict):
    id: str
    namespace: str
    state: TrainingDatasetStateEnum
    problem: str | None
    options: dict[str, Any]
    files: dict[str, TrainingFile]
    memories: int
    redacted: int
    left_out: dict[str, int]
    policy_version: int | None
    snapshot_at: str | None
    stale: dict[str, int]
    rebuild_of: str | None
    actor: str
    created_at: str
    finished_at: str | None


class TrainingDatasetList(TypedDict):
    exports: list[TrainingDataset]
    next_cursor: str | None


class Tree(TypedDict):
    placed_at: str | None
    complete: bool
    sessions: list[SessionTopics]
    next_cursor: str | None


class Unlearnt(TypedDict):
    datasets: list[str]
    adapters: list[UnlearntAdapter]


class UsageList(TypedDict):
    usage: list[UsageTotal]
    next_cursor: str | None


class UserErasure(TypedDict):
    user_id: str
    namespace: str
    status: ErasureReceiptStatusEnum
    reason: str
    erasures: list[UserErasurePart]
    keys_revoked: int
    shares_ended: int
    cubes_disowned: int
    actor: str
    created_at: str


class BulkChange(TypedDict):
    id: str | None
    namespace: str
    verb: VerbEnum
    state: BulkChangeStateEnum
    matched: int
    changed: int
    unchanged: int
    refused: int
    refusals: dict[str, int]
    actor: str
    created_at: str
    finished_at: str | None
    sample: list[Memory]


class ChatRequest(TypedDict):
    namespace: NotRequired[str]
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    cubes: NotRequired[list[str]]
    session_id: NotRequired[str]
    model: NotRequired[str | None]
    max_tokens: NotRequired[int]
    response_schema: NotRequired[dict[str, Any] | None]
    message: NotRequired[str]
    messages: NotRequired[list[MessageRequest]]


class Chunk(TypedDict):
    namespace: NotRequired[str]
    cube: NotRequired[CubeOfHit | None]
    id: str
    tier: str
    text: str
    score: float
    relevance: float
    retired_statements: list[list[int]]
    metadata: HitMetadata


class CitedAnswer(TypedDict):
    prefix_sha256: str
    prefix_tokens: int
    breakpoints: list[Breakpoint]
    answer: str
    citations: list[Citation]
    uncited: list[str]
    abstained: bool
    reason: CitedAnswerReasonEnum | NullEnum
    mode: CitedAnswerModeEnum
    model: str | None
    structured_output: dict[str, Any] | None
    context_pack_id: str | None
    tokens: int
    usage: Usage
    cost: float | None
    ttft_ms: int | None
    remembered: list[RememberedTurn] | None
    degraded: list[DegradationEnum]
    request_id: str


class Diagnosis(TypedDict):
    memory_id: str
    verdict: VerdictEnum
    reason: str
    rank: int | None
    score: float | None
    parts: DiagnosedParts
    details: DiagnosisDetails
    notes: list[NotesEnum]
    degraded: list[DegradationEnum]


class DocumentDetail(TypedDict):
    document: DocumentWhole
    chunks: list[DocumentChunk]
    next_cursor: int | None


class DocumentList(TypedDict):
    documents: list[DocumentRow]
    next_cursor: str | None


class Error(TypedDict):
    error: ErrorBody


class EvaluationList(TypedDict):
    evaluations: list[EvaluationRun]


class History(TypedDict):
    memory: Memory
    versions: list[Version]
    events: list[HistoryEvent]
    links: list[Link]
    retired: list[Retired]
    feedback: list[Opinion]


class Hit(TypedDict):
    namespace: NotRequired[str]
    cube: NotRequired[CubeOfHit | None]
    id: str
    tier: str
    text: str
    score: float
    relevance: float
    retired_statements: list[list[int]]
    metadata: HitMetadata
    explanation: Explanation


class IngestRequest(TypedDict):
    namespace: NotRequired[str]
    session_id: NotRequired[str]
    role: NotRequired[RoleNameEnum]
    text: NotRequired[str]
    messages: NotRequired[list[MessageRequest]]
    metadata: NotRequired[dict[str, Any]]
    speaker: NotRequired[str]
    occurred_at: NotRequired[str | None]
    timezone: NotRequired[str | None]


class Ingested(TypedDict):
    memory_id: str | None
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]
    memory_ids: list[str]
    messages: NotRequired[list[MessageOutcome]]
    skipped: NotRequired[list[Skipped]]
    degraded: list[DegradationEnum]


class ItemOutcome(TypedDict):
    memory_id: str | None
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]
    memory_ids: list[str]
    messages: NotRequired[list[MessageOutcome]]
    skipped: NotRequired[list[Skipped]]


class Manifest(TypedDict):
    tokenizer: str
    max_tokens: int | None
    tokens: int
    sections: list[ManifestSection]


class PackRetrieval(TypedDict):
    raw_chunks: list[Chunk]
    answerable: bool


class Procedural(TypedDict):
    prompt_registry: dict[str, PromptEntry]
    tool_registry: ToolRegistry


class Profile(TypedDict):
    user_id: str
    name: str
    preferences: list[ProfileLine]
    next_cursor: str | None


class Proof(TypedDict):
    search: SearchProof
    words: NotRequired[WordsProof]
    left: NotRequired[int]
    counters_exact: NotRequired[bool]
    audit: NotRequired[AuditKept]
    training: NotRequired[Unlearnt]


class QuarantineList(TypedDict):
    items: list[QuarantinedRow]
    next_cursor: str | None


class Recall(TypedDict):
    results: list[Recalled]
    degraded: list[DegradationEnum]


class ContextPack(TypedDict):
    schema: str
    namespace: str
    session_id: str
    query_text: str
    procedural: ProceduralMemory
    durable: list[Told]
    working_memory: WorkingMemory
    retrieval: PackRetrieval
    text: str
    manifest: Manifest


class ErasureReceipt(TypedDict):
    id: str | None
    status: ErasureReceiptStatusEnum
    namespace: str
    target: TargetEnum
    session_id: str | None
    reason: str
    actor: str
    named: int
    missing: int
    found: int
    documents: int
    notes: list[str]
    holders: dict[str, Holder]
    summaries_rebuilt: int
    proof: Proof | None
    waiting_for: str
    error: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class Found(TypedDict):
    hits: list[Hit]
    answerable: bool
    dropped: list[Dropped]
    weights: dict[str, float]
    milliseconds: dict[str, float]
    dry_run: bool
    degraded: list[DegradationEnum]


class IngestBatchRequest(TypedDict):
    items: list[IngestRequest]


class IngestedBatch(TypedDict):
    results: list[ItemOutcome]
    degraded: list[DegradationEnum]


class PackRow(TypedDict):
    id: str
    namespace: str
    session_id: str
    query_text: str
    session_summary_id: str | None
    retrieved_count: int
    created_at: str
    pack: ContextPack | dict[str, Any]


class SearchOutcome(TypedDict):
    status: int
    found: Found | None
    error: ErrorBody | None


class Answer(TypedDict):
    prefix_sha256: str
    prefix_tokens: int
    breakpoints: list[Breakpoint]
    id: str | None
    source_tier: str
    similarity: float
    answerable: bool
    raw_chunks: list[Chunk]
    condensed_summary: str
    token_usage_original: int
    token_usage_condensed: int
    rerank_debug: list[RerankDebug]
    dropped: list[Dropped]
    session_summary_id: str | None
    session_summary_cache_hit: bool
    session_summary_enqueued: bool
    context_pack_id: str | None
    context_pack: ContextPack
    dry_run: bool
    degraded: list[DegradationEnum]


class ErasureList(TypedDict):
    erasures: list[ErasureReceipt]
    next_cursor: str | None


class FoundBatch(TypedDict):
    results: list[SearchOutcome]
    degraded: list[DegradationEnum]


class PackList(TypedDict):
    context_packs: list[PackRow]
