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


AddMemoryModeEnum: TypeAlias = Literal["fast", "fine"]


WritableCubeId: TypeAlias = str


CustomTag: TypeAlias = str


class AddedData(TypedDict):
    memory: str


class Message(TypedDict):
    role: str


class AnthropicMessageRequest(TypedDict):
    model: NotRequired[str]
    messages: list[Message]
    system: NotRequired[str | list[dict[str, Any]] | None]
    tools: NotRequired[list[dict[str, Any]] | None]
    tool_choice: NotRequired[dict[str, Any] | None]
    thinking: NotRequired[dict[str, Any] | None]
    output_config: NotRequired[dict[str, Any] | None]
    max_tokens: int
    stream: NotRequired[bool | None]
    stop_sequences: NotRequired[list[str] | None]
    metadata: NotRequired[dict[str, Any] | None]


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


AsyncModeEnum: TypeAlias = Literal["async", "sync"]


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


class BankDeleted(TypedDict):
    success: bool
    message: str
    deleted_count: int


Tag: TypeAlias = str


class BankRequest(TypedDict):
    name: NotRequired[str | None]


class BankScores(TypedDict):
    final: float
    reranker: float | None
    semantic: float
    keyword: float


BlankEnum: TypeAlias = Literal[""]


BudgetEnum: TypeAlias = Literal["low", "mid", "high"]


BulkChangeStateEnum: TypeAlias = Literal["dry_run", "queued", "running", "done", "failed", "discarded"]


class ChangedMemory(TypedDict):
    id: str
    text: str
    cube_id: str


class ChatCompletionRequest(TypedDict):
    model: NotRequired[str]
    messages: list[Message]
    stream: NotRequired[bool | None]
    user: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


CitedAnswerModeEnum: TypeAlias = Literal["extractive", "model"]


CitedAnswerReasonEnum: TypeAlias = Literal[
    "nothing_found", "below_relevance_floor", "nothing_quotable", "not_in_sources"
]


class ClassicUpdateRequest(TypedDict):
    memory: str


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


class ConfigureRequest(TypedDict):
    user_id: NotRequired[str | None]


class Configured(TypedDict):
    applied: list[str]
    ignored: list[str]


class ContentRequest(TypedDict):
    group_id: str
    content: str


class CountedMessagesRequest(TypedDict):
    model: NotRequired[str]
    messages: list[Message]
    system: NotRequired[str | list[dict[str, Any]] | None]
    tools: NotRequired[list[dict[str, Any]] | None]
    tool_choice: NotRequired[dict[str, Any] | None]
    thinking: NotRequired[dict[str, Any] | None]
    output_config: NotRequired[dict[str, Any] | None]


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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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


FileId: TypeAlias = str


class DeleteMemoryRequest(TypedDict):
    writable_cube_ids: NotRequired[list[WritableCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    user_id: NotRequired[str | None]
    session_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    memory_ids: NotRequired[list[str] | None]
    file_ids: NotRequired[list[FileId] | None]
    filter: NotRequired[dict[str, Any] | None]


class DeleteRecordRequest(TypedDict):
    mem_cube_id: str
    record_id: str
    hard_delete: NotRequired[bool | None]


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


class Disposition(TypedDict):
    skepticism: int
    literalism: int
    empathy: int


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


class Embedding(TypedDict):
    object: str
    index: int
    embedding: list[float] | str


InputItem: TypeAlias = str


class EmbeddingUsage(TypedDict):
    prompt_tokens: int
    total_tokens: int


EncodingFormatEnum: TypeAlias = Literal["float", "base64"]


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


EventEnum: TypeAlias = Literal["ADD", "UPDATE", "DELETE"]


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


FactTypeEnum: TypeAlias = Literal["world", "experience", "observation"]


FeedbackEnum: TypeAlias = Literal["useful", "wrong", "outdated"]


class FeedbackRecord(TypedDict):
    add: list[ChangedMemory]
    update: list[ChangedMemory]


class FeedbackRequest(TypedDict):
    kind: FeedbackEnum
    note: NotRequired[str]


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


class Lag(TypedDict):
    entities_seconds: float
    settling_seconds: float


LanguageEnum: TypeAlias = Literal["zh", "en"]


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


ListAllMemoryTypeEnum: TypeAlias = Literal["text_mem", "act_mem", "para_mem", "pref_mem"]


MemCubeId: TypeAlias = str


Category: TypeAlias = str


class ListMemoriesRequest(TypedDict):
    categories: NotRequired[list[Category] | None]
    show_expired: NotRequired[bool | None]
    filters: dict[str, Any]
    start_date: NotRequired[str | None]
    end_date: NotRequired[str | None]
    latest_only: NotRequired[bool | None]


class ListMemoryRequest(TypedDict):
    user_id: NotRequired[str]
    mem_cube_id: NotRequired[str | None]
    filter: NotRequired[dict[str, Any] | None]
    page: NotRequired[int | None]
    page_size: NotRequired[int | None]


LogicalOperatorEnum: TypeAlias = Literal["and", "or"]


ManifestItemReasonEnum: TypeAlias = Literal["over_budget", "in_window", "in_prefix", "known", "window_step"]


ManifestItemStatusEnum: TypeAlias = Literal["kept", "trimmed", "referred", "cut"]


class MarkRequest(TypedDict):
    memory_id: str
    relevant: bool


class Mem0Done(TypedDict):
    message: str


class Mem0FeedbackRequest(TypedDict):
    memory_id: str
    feedback: FeedbackEnum
    feedback_reason: NotRequired[str | None]


class Mem0Memory(TypedDict):
    id: str
    memory: str
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    metadata: dict[str, Any]
    categories: list[str]
    expiration_date: str | None
    created_at: str
    updated_at: str


class Mem0Project(TypedDict):
    custom_instructions: NotRequired[str | None]
    agent_custom_instructions: NotRequired[str | None]
    custom_categories: NotRequired[list[str | dict[str, Any]] | None]
    memory_depth: NotRequired[str | None]
    usecase_setting: NotRequired[str | None]
    multilingual: NotRequired[bool | None]
    decay: NotRequired[bool | None]
    id: NotRequired[str]
    name: NotRequired[str]


class MemTensorAccessibleCube(TypedDict):
    cube_id: str
    mem_cube_id: str
    cube_name: str
    owner_id: str | None
    level: str


class MemTensorCaller(TypedDict):
    user_id: str
    user_name: str
    id: str
    mem_cube_id: str
    cubes: list[str]
    created_at: str
    accessible_cubes: list[MemTensorAccessibleCube]


class MemTensorCallerFound(TypedDict):
    data: MemTensorCaller
    code: int
    message: str
    notice: NotRequired[str]


ReadableCubeId: TypeAlias = str


class MemTensorClassicAnswered(TypedDict):
    data: str
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorConfigured(TypedDict):
    data: Configured
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorCreateCubeRequest(TypedDict):
    cube_name: str
    cube_id: NotRequired[str | None]
    owner_id: NotRequired[str | None]
    cube_path: NotRequired[str | None]


class MemTensorCube(TypedDict):
    cube_id: str
    mem_cube_id: str
    cube_name: str
    owner_id: str | None


class MemTensorCubeExists(TypedDict):
    data: dict[str, bool]
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorCubeId(TypedDict):
    mem_cube_id: str


class MemTensorCubeIdRequest(TypedDict):
    mem_cube_id: str


class MemTensorCubeMade(TypedDict):
    data: MemTensorCube
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorFeedbackRequest(TypedDict):
    user_id: str
    session_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    feedback_content: str
    feedback_time: NotRequired[str | None]
    retrieved_memory_ids: NotRequired[list[str] | None]
    writable_cube_ids: NotRequired[list[WritableCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    corrected_answer: NotRequired[bool | None]
    info: NotRequired[dict[str, Any] | None]


MemTensorMemoryTypeEnum: TypeAlias = Literal["UserMemory", "LongTermMemory", "PreferenceMemory"]


MemTensorMetadataStatusEnum: TypeAlias = Literal["activated", "archived"]


MemTensorProgressEnum: TypeAlias = Literal["success", "in_progress"]


class MemTensorRegisterCubeRequest(TypedDict):
    mem_cube_name_or_path: NotRequired[str | None]
    mem_cube_id: NotRequired[str | None]
    user_id: NotRequired[str | None]


class MemTensorUser(TypedDict):
    user_id: str
    user_name: str
    id: str
    mem_cube_id: str
    cubes: list[str]
    created_at: str


class MemTensorUserCreateRequest(TypedDict):
    user_id: NotRequired[str | None]
    user_name: NotRequired[str | None]
    mem_cube_id: NotRequired[str | None]
    interests: NotRequired[str | None]


class MemTensorUserFound(TypedDict):
    data: MemTensorUser
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorUserList(TypedDict):
    data: list[MemTensorUser]
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorUserNames(TypedDict):
    data: dict[str, str | None]
    code: int
    message: str
    notice: NotRequired[str]


class MemoryEvent(TypedDict):
    id: str
    memory_id: str
    input: list[dict[str, Any]]
    old_memory: str | None
    new_memory: str | None
    user_id: str | None
    event: EventEnum
    metadata: dict[str, Any]
    created_at: str
    updated_at: str


MemoryKindEnum: TypeAlias = Literal["said", "answered", "episode", "document", "fact", "preference"]


class MemoryPage(TypedDict):
    count: int
    next: str | None
    previous: str | None
    results: list[Mem0Memory]


MemoryStateEnum: TypeAlias = Literal["active", "archived"]


class MemoryToDeleteRequest(TypedDict):
    memory_id: str


MemoryUnitStateEnum: TypeAlias = Literal["valid", "invalidated"]


class MemoryUpdateRequest(TypedDict):
    text: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    timestamp: NotRequired[str | float]
    expiration_date: NotRequired[str | None]
    memory_id: str


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


class MinScoresRequest(TypedDict):
    semantic: NotRequired[float | None]
    keyword: NotRequired[float | None]
    reranker: NotRequired[float | None]
    final: NotRequired[float | None]


class Model(TypedDict):
    id: str
    object: str
    created: int
    owned_by: str


class ModelList(TypedDict):
    object: str
    data: list[Model]


class NamesOfMemoriesRequest(TypedDict):
    memory_ids: list[str]


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


class OpenAIErrorBody(TypedDict):
    message: str
    type: NotRequired[str | None]
    param: NotRequired[str | None]
    code: NotRequired[Any]
    detail: NotRequired[list[DetailItem] | dict[str, Any] | None]
    request_id: NotRequired[str]


UserIdItem: TypeAlias = str


AgentIdItem: TypeAlias = str


class OpenMemAddRequest(TypedDict):
    messages: NotRequired[str | list[dict[str, Any]] | None]
    user_id: NotRequired[str | list[UserIdItem] | None]
    agent_id: NotRequired[str | list[AgentIdItem] | None]
    conversation_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    source: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    info: NotRequired[dict[str, Any] | None]


class OpenMemAdded(TypedDict):
    task_id: str
    status: str
    success: bool


class OpenMemDeleteRequest(TypedDict):
    memory_ids: NotRequired[list[str] | None]
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    filter: NotRequired[dict[str, Any] | None]


class OpenMemDeleted(TypedDict):
    success: bool


class OpenMemFeedbackRequest(TypedDict):
    feedback_content: str
    user_id: str
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    feedback_time: NotRequired[str | None]


class OpenMemListRequest(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    filter: NotRequired[dict[str, Any] | None]
    page: NotRequired[int | None]
    size: NotRequired[int | None]


class OpenMemMemory(TypedDict):
    id: str
    memory_key: str
    memory_value: str
    memory_type: MemTensorMemoryTypeEnum
    conversation_id: str
    status: str
    tags: list[str]
    memory_time: str
    create_time: str
    update_time: str
    relativity: NotRequired[float]


class OpenMemMessage(TypedDict):
    id: str
    role: str
    content: str
    conversation_id: str
    create_time: str


class OpenMemMessagesRequest(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    message_limit_number: NotRequired[int | None]


class OpenMemPage(TypedDict):
    memory_detail_list: list[OpenMemMemory]
    preference_detail_list: list[dict[str, Any]]
    tool_memory_detail_list: list[dict[str, Any]]
    skill_detail_list: list[dict[str, Any]]
    preference_note: str
    total: int
    size: int
    current: int
    pages: int


class OpenMemSaid(TypedDict):
    message_detail_list: list[OpenMemMessage]


class OpenMemSearchRequest(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    query: str
    memory_limit_number: NotRequired[int | None]
    relativity: NotRequired[float | None]
    filter: NotRequired[dict[str, Any] | None]


class OpenMemStatusRequest(TypedDict):
    task_id: str


class OpenMemTask(TypedDict):
    task_id: str
    status: str


class Opinion(TypedDict):
    kind: FeedbackEnum
    note: str
    actor: str
    created_at: str


class OpinionKept(TypedDict):
    id: str
    feedback: FeedbackEnum
    feedback_reason: str | None
    message: str


class OptionalReasonRequest(TypedDict):
    reason: NotRequired[str]


OriginEnum: TypeAlias = Literal["default", "environment", "namespace"]


OriginsEnum: TypeAlias = Literal["dialogue", "memory", "supersession", "correction"]


OwnerTypeEnum: TypeAlias = Literal["user", "agent", "app", "run"]


class OwnersRequest(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    run_id: NotRequired[str | None]


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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay1]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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


class PatchedMem0ProjectSettingsRequest(TypedDict):
    custom_instructions: NotRequired[str | None]
    agent_custom_instructions: NotRequired[str | None]
    custom_categories: NotRequired[list[str | dict[str, Any]] | None]
    memory_depth: NotRequired[str | None]
    usecase_setting: NotRequired[str | None]
    multilingual: NotRequired[bool | None]
    decay: NotRequired[bool | None]


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


class Ping(TypedDict):
    status: str
    org_id: str
    project_id: str
    user_email: str | None


class Decay2(TypedDict):
    enabled: NotRequired[bool]
    floor: NotRequired[float]
    half_life_days: NotRequired[HalfLifeDays]


class Policy3(TypedDict):
    timezone: NotRequired[str]
    gate: NotRequired[Gate]
    conflicts: NotRequired[Conflicts]
    retrieval: NotRequired[Retrieval]
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay2]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay3]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay4]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay5]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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
    index: NotRequired[Literal["ivf", "hnsw"]]
    duplicates: NotRequired[Duplicates]
    decay: NotRequired[Decay6]
    preferences: NotRequired[Literal["off", "rules", "model"]]
    tree: NotRequired[Literal["off", "browse", "rank"]]
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


PreferenceTypeEnum: TypeAlias = Literal["explicit_preference"]


class PriorityCounts(TypedDict):
    priority: str
    queued: int
    running: int
    oldest_at: str | None


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


class Queue(TypedDict):
    name: str
    count: int


ReadyStatusEnum: TypeAlias = Literal["ok", "degraded", "unavailable"]


class Reason(TypedDict):
    rule: str
    says: str


class ReasonRequest(TypedDict):
    reason: str


class RecoverRecordRequest(TypedDict):
    mem_cube_id: str
    delete_record_id: NotRequired[str | None]
    record_id: NotRequired[str | None]


class Recovered(TypedDict):
    status: MemTensorProgressEnum
    recovered: int


class Reference(TypedDict):
    n: int
    id: str
    memory: str
    ref_id: str
    cube_id: str


class ReflectIncludeRequest(TypedDict):
    facts: NotRequired[dict[str, Any] | None]


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


class ReplicaLag(TypedDict):
    bytes: int
    seconds: float


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


class Conversation(TypedDict):
    id: str


class ResponseRequest(TypedDict):
    model: NotRequired[str]
    input: str | list[dict[str, Any]]
    instructions: NotRequired[str | None]
    previous_response_id: NotRequired[str | None]
    conversation: NotRequired[str | Conversation | None]
    store: NotRequired[bool | None]
    stream: NotRequired[bool | None]
    background: NotRequired[bool | None]
    max_output_tokens: NotRequired[int | None]
    tools: NotRequired[list[dict[str, Any]] | None]
    tool_choice: NotRequired[Any]
    text: NotRequired[dict[str, Any] | None]
    reasoning: NotRequired[dict[str, Any] | None]
    user: NotRequired[str | None]
    safety_identifier: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


Statement: TypeAlias = int


class RestoreRequest(TypedDict):
    reason: str
    version_id: NotRequired[str | None]
    undo_supersede: NotRequired[bool]
    statements: NotRequired[list[Statement]]


DocumentTag: TypeAlias = str


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


class ScoreBreakdown(TypedDict):
    semantic: float
    bm25: float


class SearchMemoriesRequest(TypedDict):
    categories: NotRequired[list[Category] | None]
    show_expired: NotRequired[bool | None]
    query: str
    filters: dict[str, Any]
    metadata: NotRequired[dict[str, Any] | None]
    top_k: NotRequired[int | None]
    threshold: NotRequired[float | None]
    fields: NotRequired[list[str] | None]


class SearchMemoriesV1Request(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    categories: NotRequired[list[Category] | None]
    show_expired: NotRequired[bool | None]
    query: str
    metadata: NotRequired[dict[str, Any] | None]
    top_k: NotRequired[int | None]
    limit: NotRequired[int | None]
    threshold: NotRequired[float | None]


InstallCubeId: TypeAlias = str


SearchMemoryTypeEnum: TypeAlias = Literal["All"]


class SearchProof(TypedDict):
    searched: int
    found_before: int
    found_after: int


class SearchServerRequest(TypedDict):
    categories: NotRequired[list[Category] | None]
    show_expired: NotRequired[bool | None]
    query: str
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    filters: NotRequired[dict[str, Any] | None]
    top_k: NotRequired[int | None]
    limit: NotRequired[int | None]
    threshold: NotRequired[float | None]


class Seeded(TypedDict):
    ok: bool
    namespace: str
    session_id: str
    inserted: int
    memory_ids: list[str]


class ServerMemoryList(TypedDict):
    results: list[Mem0Memory]


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


class Suggested(TypedDict):
    query: list[str]


class SuggestionsRequest(TypedDict):
    user_id: NotRequired[str]
    mem_cube_id: NotRequired[str | None]
    language: NotRequired[LanguageEnum]


class SummarySentence(TypedDict):
    text: str
    memory_id: str


class SupersedeRequest(TypedDict):
    reason: str
    by: NotRequired[str | None]
    text: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    occurred_at: NotRequired[str | None]


TagsMatchEnum: TypeAlias = Literal["any", "all", "any_strict", "all_strict", "exact"]


class TakenIn(TypedDict):
    accepted: bool
    verdict: GateDecisionEnum
    memory_id: str | None
    document_id: str | None
    reasons: list[Reason]
    degraded: list[DegradationEnum]


TargetEnum: TypeAlias = Literal["memories", "session", "speaker", "namespace"]


class TaskCounts(TypedDict):
    waiting: int
    in_progress: int
    total: int


class TaskLag(TypedDict):
    entities_seconds: float
    settling_seconds: float


class TaskQueue(TypedDict):
    user_name: str | None
    remaining_tasks_count: int
    pending_tasks_count: int
    running_tasks_count: int
    priorities: list[PriorityCounts]


TaskStatusEnum: TypeAlias = Literal["waiting", "in_progress", "completed", "failed", "cancelled"]


class TasksWaited(TypedDict):
    user_name: str | None
    running_tasks: int
    remaining_turns: int
    waited_seconds: float
    timed_out: bool
    priorities: list[PriorityCounts]


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


class TokenCount(TypedDict):
    input_tokens: int


class TokensSpent(TypedDict):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int


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


TopicLevelEnum: TypeAlias = Literal["session", "topic"]


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


class UpdateManyRequest(TypedDict):
    memories: list[MemoryUpdateRequest]


class UpdateMemoryRequest(TypedDict):
    text: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    timestamp: NotRequired[str | float]
    expiration_date: NotRequired[str | None]


UpdateModeEnum: TypeAlias = Literal["append"]


class UpdatedMemory(TypedDict):
    id: str
    memory: str
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    metadata: dict[str, Any]
    categories: list[str]
    expiration_date: str | None
    created_at: str
    updated_at: str
    text: str
    message: str


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


UseEnum: TypeAlias = Literal["off", "browse", "rank"]


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
    lag: Lag


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


TopicId = TypedDict(
    "TopicId",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[str]],
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


OccurredAt = TypedDict(
    "OccurredAt",
    {
        "eq": NotRequired[str],
        "ne": NotRequired[str],
        "in": NotRequired[list[InItem]],
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
        "in": NotRequired[list[InItem]],
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
        "in": NotRequired[list[InItem]],
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
        "topic_id": NotRequired[str | TopicId],
        "importance": NotRequired[float | Importance],
        "occurred_at": NotRequired[str | OccurredAt],
        "created_at": NotRequired[str | CreatedAt],
        "updated_at": NotRequired[str | UpdatedAt],
    },
)


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


class AddMemoryRequest(TypedDict):
    user_id: NotRequired[str]
    session_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    task_id: NotRequired[str | None]
    manager_user_id: NotRequired[str | None]
    project_id: NotRequired[str | None]
    writable_cube_ids: NotRequired[list[WritableCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    async_mode: NotRequired[AsyncModeEnum | NullEnum]
    mode: NotRequired[AddMemoryModeEnum | NullEnum]
    messages: NotRequired[str | list[dict[str, Any]] | None]
    memory_content: NotRequired[str | None]
    doc_path: NotRequired[str | None]
    source: NotRequired[str | None]
    custom_tags: NotRequired[list[CustomTag] | None]
    info: NotRequired[dict[str, Any] | None]
    is_feedback: NotRequired[bool | None]
    is_upload_skill: NotRequired[bool | None]


class AddedMemory(TypedDict):
    id: str
    memory: str
    event: EventEnum
    data: AddedData


class AddedToCube(TypedDict):
    memory: str
    memory_id: str
    memory_type: MemTensorMemoryTypeEnum
    cube_id: str


class Alias(TypedDict):
    id: str
    name: str
    kind: EntityKindEnum
    link: LinkEnum
    mentions: int


class AllTasks(TypedDict):
    scheduler_summary: TaskCounts
    all_tasks_summary: TaskCounts
    priorities: list[PriorityCounts]
    lag: TaskLag


class AnthropicError(TypedDict):
    type: str
    error: OpenAIErrorBody


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


class BankHit(TypedDict):
    id: str
    text: str
    type: FactTypeEnum
    context: str | None
    occurred_start: str
    occurred_end: str | None
    mentioned_at: str
    document_id: str | None
    metadata: dict[str, Any] | None
    tags: list[str]
    scores: BankScores


class BankMemory(TypedDict):
    id: str
    text: str
    type: FactTypeEnum
    context: str | None
    occurred_start: str
    occurred_end: str | None
    mentioned_at: str
    document_id: str | None
    metadata: dict[str, Any] | None
    tags: list[str]


class BankProfile(TypedDict):
    bank_id: str
    name: str
    disposition: Disposition
    mission: str


class BankRecallAnswer(TypedDict):
    results: list[BankHit]


class BankRecallRequest(TypedDict):
    query: str
    budget: NotRequired[BudgetEnum | NullEnum]
    tags: NotRequired[list[Tag] | None]
    tags_match: NotRequired[TagsMatchEnum | NullEnum]
    tag_groups: NotRequired[Any]
    types: NotRequired[list[Literal["world", "experience", "observation"]] | None]
    max_tokens: NotRequired[int | None]
    min_scores: NotRequired[MinScoresRequest | None]
    temporal_window: NotRequired[Any]


class BasedOn(TypedDict):
    memories: list[BankMemory]
    mental_models: list[dict[str, Any]]
    directives: list[dict[str, Any]]


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


class ChatAnswer(TypedDict):
    response: str
    reasoning: str | None
    references: list[Reference]


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


class DeleteManyRequest(TypedDict):
    memories: list[MemoryToDeleteRequest]


class Deleted(TypedDict):
    status: MemTensorProgressEnum
    deleted: int
    record_ids: list[str]


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


class EmbeddingList(TypedDict):
    object: str
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


class EmbeddingRequestRequest(TypedDict):
    input: str | list[InputItem]
    model: NotRequired[str]
    encoding_format: NotRequired[EncodingFormatEnum]
    dimensions: NotRequired[int | None]


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


class FeedbackKept(TypedDict):
    record: FeedbackRecord


class Graph(TypedDict):
    nodes: list[Entity]
    edges: list[Edge]


class Health(TypedDict):
    status: HealthStatusEnum


class HitMemory(TypedDict):
    id: str
    memory: str
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any]]
    categories: NotRequired[list[str]]
    expiration_date: NotRequired[str | None]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    score: NotRequired[float]
    score_breakdown: NotRequired[ScoreBreakdown]


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


class ListAllRequest(TypedDict):
    user_id: NotRequired[str]
    mem_cube_ids: NotRequired[list[MemCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    memory_type: NotRequired[ListAllMemoryTypeEnum | NullEnum]
    search_query: NotRequired[str | None]


class ManifestItem(TypedDict):
    id: str
    tokens: int
    status: ManifestItemStatusEnum
    reason: ManifestItemReasonEnum | NullEnum


class ManifestSection(TypedDict):
    section: PackSectionEnum
    tokens: int
    items: list[ManifestItem]


class Mem0Error(TypedDict):
    error: ErrorBody
    detail: NotRequired[str]


class Mem0TurnRequest(TypedDict):
    role: NotRequired[RoleNameEnum]
    content: str | list[str | dict[str, Any]] | dict[str, Any] | None
    name: NotRequired[str | None]


class MemTensorAdded(TypedDict):
    data: list[AddedToCube]
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorAllTasks(TypedDict):
    data: AllTasks
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorChatAnswered(TypedDict):
    data: ChatAnswer
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorClassicDeleted(TypedDict):
    data: Deleted
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorCubeEnded(TypedDict):
    data: MemTensorCubeId
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorDeleted(TypedDict):
    data: Deleted
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorError(TypedDict):
    error: ErrorBody
    code: NotRequired[int]
    message: NotRequired[str]
    data: NotRequired[Any]


class MemTensorFeedbackKept(TypedDict):
    data: FeedbackKept
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorMessageRequest(TypedDict):
    role: NotRequired[RoleNameEnum]
    content: str | list[str | dict[str, Any]] | dict[str, Any] | None
    name: NotRequired[str | None]
    chat_time: NotRequired[str | None]


class MemTensorMetadata(TypedDict):
    memory_type: MemTensorMemoryTypeEnum
    status: MemTensorMetadataStatusEnum
    user_id: str | None
    session_id: str
    role: str
    tags: list[str]
    info: dict[str, Any]
    created_at: str
    memory_time: str
    relativity: NotRequired[float]
    preference_type: NotRequired[PreferenceTypeEnum]
    preference: NotRequired[str]


class MemTensorOpenMemAdded(TypedDict):
    data: OpenMemAdded
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemDeleted(TypedDict):
    data: OpenMemDeleted
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemJudged(TypedDict):
    data: OpenMemAdded
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemOne(TypedDict):
    data: OpenMemMemory
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemPage(TypedDict):
    data: OpenMemPage
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemSaid(TypedDict):
    data: OpenMemSaid
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemStatus(TypedDict):
    data: OpenMemTask
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorRecordDeleted(TypedDict):
    data: Deleted
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorRecordRecovered(TypedDict):
    data: Recovered
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorShareRequest(TypedDict):
    target_user_id: str
    level: NotRequired[ShareLevelEnum]


class MemTensorShared(TypedDict):
    mem_cube_id: str
    target_user_id: str
    level: ShareLevelEnum


class MemTensorSuggestions(TypedDict):
    data: Suggested
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorTaskQueue(TypedDict):
    data: TaskQueue
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorTasksWaited(TypedDict):
    data: TasksWaited
    code: int
    message: str
    notice: NotRequired[str]


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


class MemoryUnit(TypedDict):
    id: str
    text: str
    context: str
    date: str
    fact_type: FactTypeEnum
    document_id: str | None
    mentioned_at: str
    occurred_start: str
    tags: list[str]
    metadata: dict[str, str]
    state: MemoryUnitStateEnum


class MemoryUnitList(TypedDict):
    items: list[MemoryUnit]
    total: int
    limit: int
    offset: int


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


class OpenAIError(TypedDict):
    error: OpenAIErrorBody


class OpenMemFound(TypedDict):
    memory_detail_list: list[OpenMemMemory]
    preference_detail_list: list[dict[str, Any]]
    tool_memory_detail_list: list[dict[str, Any]]
    skill_detail_list: list[dict[str, Any]]
    preference_note: str


class Outcome(TypedDict):
    memory_id: str | None
    accepted: bool
    verdict: GateDecisionEnum
    reasons: list[Reason]


class Owner(TypedDict):
    id: str
    name: str
    type: OwnerTypeEnum
    total_memories: int
    owner: str
    created_at: str
    updated_at: str


class OwnerPage(TypedDict):
    count: int
    next: str | None
    previous: str | None
    results: list[Owner]


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


class PathStep(TypedDict):
    id: str
    level: TopicLevelEnum
    label: str


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


class Ready(TypedDict):
    status: ReadyStatusEnum
    checks: dict[str, str]
    replica_lag: NotRequired[ReplicaLag]


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


class ReflectRequest(TypedDict):
    query: str
    budget: NotRequired[BudgetEnum | NullEnum]
    tags: NotRequired[list[Tag] | None]
    tags_match: NotRequired[TagsMatchEnum | NullEnum]
    tag_groups: NotRequired[Any]
    context: NotRequired[str | None]
    max_tokens: NotRequired[int | None]
    include: NotRequired[ReflectIncludeRequest | None]
    response_schema: NotRequired[dict[str, Any] | None]


class Reflected(TypedDict):
    text: str
    based_on: BasedOn | None
    structured_output: dict[str, Any] | None
    usage: TokensSpent


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


class RetainItemRequest(TypedDict):
    content: str | list[dict[str, Any]]
    timestamp: NotRequired[str | None]
    context: NotRequired[str | None]
    document_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    tags: NotRequired[list[Tag] | None]
    update_mode: NotRequired[UpdateModeEnum | NullEnum]


RetainRequest = TypedDict(
    "RetainRequest",
    {
        "items": list[RetainItemRequest],
        "document_tags": NotRequired[list[DocumentTag] | None],
        "operation_id": NotRequired[str | None],
        "async": NotRequired[bool | None],
    },
)


Retained = TypedDict(
    "Retained",
    {
        "success": bool,
        "bank_id": str,
        "items_count": int,
        "operation_id": str | None,
        "outcomes": list[Outcome],
        "async": bool,
    },
)


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


class SearchMemoryRequest(TypedDict):
    user_id: NotRequired[str]
    session_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    query: str
    readable_cube_ids: NotRequired[list[ReadableCubeId] | None]
    install_cube_ids: NotRequired[list[InstallCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    top_k: NotRequired[int]
    relativity: NotRequired[float | None]
    filter: NotRequired[dict[str, Any] | None]
    search_memory_type: NotRequired[SearchMemoryTypeEnum | NullEnum]
    include_preference: NotRequired[bool | None]
    pref_top_k: NotRequired[int]
    internet_search: NotRequired[bool | None]


class SharedError(TypedDict):
    error: ErrorBody
    code: NotRequired[int]
    message: NotRequired[str]
    data: NotRequired[Any]
    detail: NotRequired[str]


SharedSearchRequest: TypeAlias = SearchServerRequest | SearchMemoryRequest


class Task(TypedDict):
    task_id: str
    status: TaskStatusEnum
    label: str
    priority: str


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


class Topic(TypedDict):
    id: str
    parent_id: str | None
    level: TopicLevelEnum
    session_id: str
    label: str
    summary: list[SummarySentence]
    sources: list[str]
    memories: int
    topics: int
    stale: bool
    updated_at: str


class TopicDetail(TypedDict):
    id: str
    parent_id: str | None
    level: TopicLevelEnum
    session_id: str
    label: str
    summary: list[SummarySentence]
    sources: list[str]
    memories: int
    topics: int
    stale: bool
    updated_at: str
    children: list[Topic]
    children_cursor: str | None
    path: list[PathStep]


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


class TreeNode(TypedDict):
    node: TopicDetail
    memories: list[Memory]
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


class WhyRequest(TypedDict):
    namespace: NotRequired[str]
    query: str
    top_k: NotRequired[int]
    filter: NotRequired[Filter | None]
    as_of: NotRequired[str | None]
    valid_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    memory_id: str


class AddEvent(TypedDict):
    id: str
    event_type: str
    status: str
    results: list[AddedMemory]
    created_at: str
    updated_at: str


class AddEventPage(TypedDict):
    count: int
    next: str | None
    previous: str | None
    results: list[AddEvent]


class AddMemoriesRequest(TypedDict):
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    messages: list[Mem0TurnRequest]
    metadata: NotRequired[dict[str, Any] | None]
    infer: NotRequired[bool | None]
    timestamp: NotRequired[str | float | None]
    expiration_date: NotRequired[str | None]
    filters: NotRequired[OwnersRequest | None]


class Added(TypedDict):
    message: str
    status: str
    event_id: str
    results: list[AddedMemory]


class AddedList(TypedDict):
    message: str
    results: list[AddedMemory]


class Branch(TypedDict):
    id: str
    parent_id: str | None
    level: TopicLevelEnum
    session_id: str
    label: str
    summary: list[SummarySentence]
    sources: list[str]
    memories: int
    topics: int
    stale: bool
    updated_at: str
    children: list[Topic]
    children_cursor: str | None


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


class FoundMemories(TypedDict):
    results: list[HitMemory]


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


class MemTensorChatRequest(TypedDict):
    user_id: NotRequired[str]
    session_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    query: str
    readable_cube_ids: NotRequired[list[ReadableCubeId] | None]
    writable_cube_ids: NotRequired[list[WritableCubeId] | None]
    mem_cube_id: NotRequired[str | None]
    history: NotRequired[list[MemTensorMessageRequest] | None]
    system_prompt: NotRequired[str | None]
    top_k: NotRequired[int]
    relativity: NotRequired[float | None]
    filter: NotRequired[dict[str, Any] | None]
    model_name_or_path: NotRequired[str | None]
    max_tokens: NotRequired[int | None]
    add_message_on_answer: NotRequired[bool]
    internet_search: NotRequired[bool | None]
    language: NotRequired[LanguageEnum]


class MemTensorCubeShared(TypedDict):
    data: MemTensorShared
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorMemory(TypedDict):
    id: str
    memory: str
    ref_id: str
    metadata: MemTensorMetadata


class MemTensorOneMemory(TypedDict):
    data: MemTensorMemory
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorOpenMemFound(TypedDict):
    data: OpenMemFound
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorSeveralMemories(TypedDict):
    data: list[MemTensorMemory]
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorTasks(TypedDict):
    data: list[Task]
    code: int
    message: str
    notice: NotRequired[str]


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


class SearchBatchRequest(TypedDict):
    questions: list[BatchQuestionRequest | Any]
    defaults: NotRequired[SearchDefaultsRequest]


SharedAddRequest: TypeAlias = AddMemoriesRequest | AddMemoryRequest


SharedAdded: TypeAlias = AddedList | MemTensorAdded


class Tree(TypedDict):
    use: UseEnum
    complete: bool
    nodes: list[Branch]
    next_cursor: str | None


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


class CubeMemories(TypedDict):
    cube_id: str
    memories: list[MemTensorMemory]
    total_nodes: int


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


class MemTensorClassicMemory(TypedDict):
    data: MemTensorMemory
    code: int
    message: str
    notice: NotRequired[str]


class MemTensorListed(TypedDict):
    data: list[CubeMemories]
    code: int
    message: str
    notice: NotRequired[str]


class MemoriesByKind(TypedDict):
    text_mem: list[CubeMemories]
    pref_mem: list[CubeMemories]
    tool_mem: list[CubeMemories]
    skill_mem: list[CubeMemories]
    act_mem: list[CubeMemories]
    para_mem: list[CubeMemories]
    pref_string: str
    pref_note: str


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


SharedListed: TypeAlias = ServerMemoryList | MemTensorListed


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


class MemTensorFound(TypedDict):
    data: MemoriesByKind
    code: int
    message: str
    notice: NotRequired[str]


class PackList(TypedDict):
    context_packs: list[PackRow]


SharedFound: TypeAlias = FoundMemories | MemTensorFound
