"""Settings of earlier versions: a server that still sets one reports what became of it."""

from __future__ import annotations

from typing import Final

_FIXED: Final = {
    "its value is fixed": """
        MEMOS_ACTIVATION_SECONDS MEMOS_ADMIN_USER MEMOS_ANSWER_SOURCE_TOKENS MEMOS_BACKUP_TIMEOUT_SECONDS
        MEMOS_CUBE_KEEP_HOURS MEMOS_EVALUATION_TIMEOUT_SECONDS MEMOS_HF_IDLE_SECONDS MEMOS_HNSW_BUILD_MB
        MEMOS_HNSW_NAMESPACES MEMOS_IDEMPOTENCY_HOURS MEMOS_JOBS_KEEP_DAYS MEMOS_JOB_ATTEMPTS
        MEMOS_LARGE_NAMESPACE_MEMORIES MEMOS_LLM_BREAKER_FAILURES MEMOS_LLM_BREAKER_SECONDS MEMOS_LLM_GATE_SECONDS
        MEMOS_LLM_RELAY_IDLE_SECONDS MEMOS_LLM_SETTLING_PER_RUN MEMOS_LOGIN_FAILURES MEMOS_LOGIN_LOCK_MINUTES
        MEMOS_MCP_RESULT_CHARS MEMOS_MODEL_CALLS_DAYS MEMOS_PARSER_CPU_SECONDS
        MEMOS_PARSER_MEMORY_MB MEMOS_PARSER_PAGES MEMOS_PARSER_SECONDS MEMOS_RECEIVE_SECONDS
        MEMOS_REQUEST_FIGURES_DAYS MEMOS_RERANK_CANDIDATES MEMOS_RERANK_MAX_TOKENS MEMOS_RERANK_THREADS
        MEMOS_RERANK_WEIGHT MEMOS_SEARCH_TIMEOUT_MS MEMOS_STREAM_THREADS MEMOS_SUMMARY_BATCH_MESSAGES
        MEMOS_SUMMARY_LOCK_SECONDS MEMOS_TOKENIZER MEMOS_TRAINING_KEEP_DAYS MEMOS_TRAINING_SECONDS
        MEMOS_WEBHOOK_DISABLE_HOURS MEMOS_WEBHOOK_LOG_DAYS MEMOS_WEBHOOK_SECONDS MEMOS_WINDOW_MESSAGES
        MEMOS_WINDOW_TTL_SECONDS
    """,
    "adapters are in `adapters` in MEMOS_DATA_DIR": "MEMOS_ADAPTERS_DIR",
    "data sets are in `datasets` in MEMOS_DATA_DIR": "MEMOS_EVALUATION_DIR",
    "a file may be three quarters of MEMOS_MAX_BODY_BYTES": "MEMOS_FILE_MAX_BYTES",
    "a failed job waits half as long again as MEMOS_JOB_TIMEOUT_SECONDS": "MEMOS_JOB_RETRY_SECONDS",
    "no replica is read from": "DATABASE_REPLICA_URL",
    "the records of reads never wait for the disk": "MEMOS_DURABLE_READS",
    "every large namespace has an index of pgvector": "MEMOS_POLICY_INDEX",
}
# These protected something, so a server that still sets one doesn't start.
REFUSED: Final = {
    "MEMOS_WEBHOOK_THREADS": "MEMOS_WEBHOOK_WORKERS has taken its place",
    "MEMOS_OAUTH_ALGORITHMS": "tokens may be signed by RS256 or ES256",
}
# The fate of each setting, as the end of a sentence.
FIXED: Final = {name: says for says, names in _FIXED.items() for name in names.split()}

# Policy keys that the other removed settings set.
_KEYS: Final = """
    timezone gate.strict gate.worth_threshold gate.personal_data gate.secrets gate.injection conflicts.settle
    retrieval.relevance_floor duplicates.collapse decay.enabled decay.floor decay.half_life_days.said
    decay.half_life_days.answered decay.half_life_days.episode decay.half_life_days.document decay.half_life_days.fact
    decay.half_life_days.preference preferences extract training.consent ttl_days retention.packs_days
    retention.evaluation_days retention.quarantine_days legal_hold working_memory.hours quota.memories
    quota.writes_per_day budget.period budget.soft_usd budget.hard_usd budget.soft_tokens budget.hard_tokens
"""
POLICY_KEYS: Final = {f"MEMOS_POLICY_{key.upper().replace('.', '_')}": key for key in _KEYS.split()} | {
    "MEMOS_SUMMARY_REFRESH_MESSAGES": "summary.messages",
    "MEMOS_SUMMARY_REFRESH_TOKENS": "summary.tokens",
    "MEMOS_SUMMARY_IDLE_SECONDS": "summary.idle_seconds",
    "MEMOS_LLM_ANSWER_MODEL": "models.answer",
    "MEMOS_LLM_SUMMARISE_MODEL": "models.summarise",
    "MEMOS_LLM_EXTRACT_MODEL": "models.extract",
    "MEMOS_LLM_JUDGE_MODEL": "models.judge",
}
