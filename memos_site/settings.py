"""Django settings. Every value that an operator may change is declared here once, with its help (see memory.conf)."""

from __future__ import annotations

import hashlib
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url

from memory.api.route_tags import ROUTE_TAGS
from memory.conf import ConfigurationError, Environment, describe
from memory.model_prices import read_prices
from memory.policy_values import DEFAULTS, read_policy
from memory.providers.embedding import PROVIDERS as EMBEDDING_PROVIDERS
from memory.providers.rerank import OFF as NO_RERANKER
from memory.providers.rerank import PROVIDERS as RERANKERS
from memos_site.runtime import discover, https_address, local_address

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()

# --- General -----------------------------------------------------------------------------------------------------
env.section("General")
DEBUG = env.flag("MEMOS_DEBUG", False, "Development mode: tracebacks in the browser. Never where others can reach it.")
MEMOS_DATA_DIR = (
    Path(env.text("MEMOS_DATA_DIR", str(BASE_DIR / "data"), "Folder of everything `make run` keeps.", shown="./data"))
    .expanduser()
    .resolve()
)
MEMOS_DEMO = env.flag(
    "MEMOS_DEMO",
    True,
    "`make run` fills the namespace `demo` of an empty server with made-up conversations. 0: it stays empty.",
)
MEMOS_HOST = env.text("MEMOS_HOST", "127.0.0.1", "Address that the web server listens on.")
MEMOS_PORT = env.integer(
    "MEMOS_PORT", 8000, "Port that the web server listens on.", minimum=1, maximum=65535, alias="MEMOS_API_PORT"
)
_runtime = discover(MEMOS_DATA_DIR)
SECRET_KEY = env.text(
    "MEMOS_SECRET_KEY",
    _runtime.get("MEMOS_SECRET_KEY", ""),
    "Signs cookies and API keys; changing it ends every login and every API key. "
    "`make run` makes one and keeps it in the data folder; elsewhere it must be set.",
    secret=True,
    shown="made by `make run`",
)
_hosts = env.words("MEMOS_ALLOWED_HOSTS", "", "Host names under which the server may be called, beside localhost.")
# Probes and management on the machine itself come by the last three.
ALLOWED_HOSTS = [*_hosts, "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.words(
    "MEMOS_TRUSTED_ORIGINS", "", "Origins (https://memos.example.com) that staff log in from behind a proxy."
)
MEMOS_HTTPS = env.flag(
    "MEMOS_HTTPS",
    False,
    "The server is reached by HTTPS through a proxy that sets X-Forwarded-Proto: secure cookies, HSTS.",
)
# Where programs reach the server: the one that `make run` has on the data folder, else the one of these settings.
MEMOS_ADDRESS = (
    _runtime.get("MEMOS_ADDRESS")
    or (https_address(CSRF_TRUSTED_ORIGINS, _hosts) if MEMOS_HTTPS else None)
    or local_address(MEMOS_HOST, MEMOS_PORT)
)
MEMOS_LOG_LEVEL = env.text(
    "MEMOS_LOG_LEVEL", "INFO", "Memory text is never logged at INFO.", choices=("DEBUG", "INFO", "WARNING", "ERROR")
)
MEMOS_WEB_WORKERS = env.integer(
    "MEMOS_WEB_WORKERS",
    2,
    "Web server processes: half as many as there are processors, plus one; PostgreSQL and the embedding need the rest.",
    minimum=1,
    maximum=64,
)
MEMOS_WEB_THREADS = env.integer(
    "MEMOS_WEB_THREADS",
    4,
    "Requests that a web server process works on at once: so many connections to PostgreSQL it has for them.",
    minimum=1,
    maximum=64,
)

MEMOS_TELEMETRY = env.flag(
    "MEMOS_TELEMETRY",
    False,
    "Traces and metrics by OTLP (HTTP), to where OpenTelemetry's own OTEL_EXPORTER_OTLP_ENDPOINT says. Needs "
    "requirements-telemetry.txt.",
)

# --- Storage -----------------------------------------------------------------------------------------------------
env.section("Storage")
DATABASE_URL = env.text(
    "DATABASE_URL",
    _runtime.get("DATABASE_URL", ""),
    "PostgreSQL 16+ with pgvector 0.7+: `postgresql://user:password@host:5432/name`. Empty: `make run` starts its own.",
    secret=True,
    shown="embedded",
)
REDIS_URL = env.text(
    "REDIS_URL",
    _runtime.get("REDIS_URL", ""),
    "Redis or Valkey, as `redis://host:6379/0`. Empty: `make run` starts its own.",
    secret=True,
    shown="embedded",
)

# --- Access ------------------------------------------------------------------------------------------------------
env.section("Access")
MEMOS_ANONYMOUS = env.flag(
    "MEMOS_ANONYMOUS", False, "Opens the API, with every right, to clients that send no key. Only with MEMOS_DEBUG=1."
)
MEMOS_RATE_LIMIT_PER_MINUTE = env.integer(
    "MEMOS_RATE_LIMIT_PER_MINUTE",
    60_000,
    "Requests a minute that one API key may make; 0 is no limit. A key may have its own.",
)
MEMOS_MAX_BODY_BYTES = env.integer(
    "MEMOS_MAX_BODY_BYTES", 32 * 1024 * 1024, "Largest request body in bytes; more is answered 413.", minimum=100_000
)
MEMOS_MAX_UPLOAD_BYTES = env.integer(
    "MEMOS_MAX_UPLOAD_BYTES",
    1024 * 1024 * 1024,
    "Largest file in bytes that may be uploaded in parts, and the most that one key's uploads to a namespace may have "
    "together until they are imported or loaded; all of a namespace's have four times that. They lie in the database.",
    minimum=1,
)
MEMOS_REQUEST_SECONDS = env.integer(
    "MEMOS_REQUEST_SECONDS",
    60,
    "Seconds that the answer to an API request may take, and each statement of any request; then it is 503 "
    "`deadline_exceeded`, and nothing was written.",
    minimum=1,
    maximum=3600,
)
MEMOS_STREAMS_PER_KEY = env.integer(
    "MEMOS_STREAMS_PER_KEY",
    16,
    "Streams and answers of a model that one API key may have under way at once; the next is answered 503 "
    "`too_many_streams`.",
    minimum=1,
    maximum=512,
)
MEMOS_METRICS_PUBLIC = env.flag(
    "MEMOS_METRICS_PUBLIC", True, "`/metrics` needs no key (it shows totals only). 0: a key with the admin scope."
)

MEMOS_OAUTH_ISSUER = env.text(
    "MEMOS_OAUTH_ISSUER",
    "",
    "Issuer whose OAuth tokens `/mcp` takes beside API keys, as `https://login.example.com`: exactly what its tokens "
    "have in `iss`. Empty: API keys only.",
)
MEMOS_OAUTH_AUDIENCE = env.text(
    "MEMOS_OAUTH_AUDIENCE",
    "",
    "Address of `/mcp` as clients reach it, as `https://memos.example.com/mcp`: tokens must have it in `aud`.",
)
MEMOS_OAUTH_JWKS_URL = env.text(
    "MEMOS_OAUTH_JWKS_URL", "", "Where the issuer lists its keys. Empty: where its own metadata say."
)
MEMOS_OAUTH_NAMESPACES_CLAIM = env.text(
    "MEMOS_OAUTH_NAMESPACES_CLAIM",
    "memos_namespaces",
    "Claim of a token that names the namespaces its bearer reaches: a list, or words between spaces. Its scopes are "
    "`memos:read`, `memos:write` and `memos:admin` in `scope` or `scp`.",
)

MEMOS_ADMIN_PASSWORD = env.text(
    "MEMOS_ADMIN_PASSWORD", "", "Its password.", secret=True, shown="made and shown by the first start"
)
MEMOS_PROXIES = env.integer(
    "MEMOS_PROXIES",
    1 if MEMOS_HTTPS else 0,
    "Proxies of your own in front, each of which adds the address it was called from to X-Forwarded-For. With too few, "
    "all sign-ins seem to come from the proxy; with too many, an attacker names the address.",
    maximum=10,
    shown="1 with MEMOS_HTTPS=1, else 0",
)
MEMOS_STAFF_SECOND_FACTOR = env.text(
    "MEMOS_STAFF_SECOND_FACTOR",
    "optional",
    "One-time codes of an app (TOTP) for staff: `required`, nothing opens but the page that sets them up.",
    choices=("optional", "required"),
)
MEMOS_CORS_ORIGINS = env.words(
    "MEMOS_CORS_ORIGINS",
    "http://localhost:3000,http://127.0.0.1:3000,http://localhost:5173,http://127.0.0.1:5173",
    "Origins whose browser pages may call the API, with a key of theirs. `off`: none.",
)

# --- Embedding ---------------------------------------------------------------------------------------------------
env.section("Embedding")
MEMOS_EMBEDDING_PROVIDER = env.text(
    "MEMOS_EMBEDDING_PROVIDER",
    "minilm",
    f"Who makes vectors: {describe(EMBEDDING_PROVIDERS)}. On a "
    "server that holds memories, change it by `manage.py reembed`.",
    choices=tuple(EMBEDDING_PROVIDERS),
)
MEMOS_EMBEDDING_MODEL = env.text(
    "MEMOS_EMBEDDING_MODEL",
    "",
    "Model name. For `minilm`: `all-MiniLM-L6-v2-int8-zh` (default) or `all-MiniLM-L6-v2-fp32-zh` (half the speed); "
    "without `-zh` Chinese is not read.",
    shown="the provider's own",
)
MEMOS_EMBEDDING_DIMENSIONS = env.integer(
    "MEMOS_EMBEDDING_DIMENSIONS",
    0,
    "Dimensions of the `openai` provider's vectors; 0 asks the model once.",
    maximum=16000,
)
MEMOS_EMBEDDING_BASE_URL = env.text(
    "MEMOS_EMBEDDING_BASE_URL",
    "",
    "Endpoint of the `openai` provider, e.g. `http://localhost:11434/v1`.",
    shown="OpenAI's",
)
MEMOS_EMBEDDING_API_KEY = env.text("MEMOS_EMBEDDING_API_KEY", "", "Key of the `openai` provider.", secret=True)
MEMOS_EMBEDDING_TIMEOUT_SECONDS = env.number(
    "MEMOS_EMBEDDING_TIMEOUT_SECONDS", 10.0, "Seconds that the `openai` provider may take.", minimum=0.1, maximum=600
)
MEMOS_EMBEDDING_THREADS = env.integer(
    "MEMOS_EMBEDDING_THREADS", 2, "Threads that embed (`minilm`).", minimum=1, maximum=64
)
MEMOS_EMBEDDING_SOCKET = env.text(
    "MEMOS_EMBEDDING_SOCKET",
    _runtime.get("MEMOS_EMBEDDING_SOCKET", ""),
    "Unix socket of a process that has the model (`minilm`) for all others of the machine, started with "
    "`python -m memory.providers.minilm.server`. Empty: each process has the model, 60 MB.",
    shown="the one that `make run` starts",
)
MEMOS_MODEL_DIR = Path(
    env.text(
        "MEMOS_MODEL_DIR",
        str(MEMOS_DATA_DIR / "models"),
        "Folder of what is made once from installed packages: the ONNX graph of the weights, the dictionary's file and "
        "the word lists of names.",
        shown="`models` in the data folder",
    )
).expanduser()

# --- Retrieval ---------------------------------------------------------------------------------------------------
env.section("Retrieval")
MEMOS_PACK_MAX_TOKENS = env.integer(
    "MEMOS_PACK_MAX_TOKENS",
    0,
    "Tokens that the text of a context pack may have where a query names no `max_tokens`; 0 is no limit.",
    maximum=200_000,
)

MEMOS_COLUMNS_MB = env.integer(
    "MEMOS_COLUMNS_MB",
    24,
    "Megabytes that each web process may fill with the indexes of the namespaces it is asked for, so that a question "
    "is answered by arithmetic instead of SQL. A thousand memories take 1.5 to 2.5 with vectors of 384 dimensions, 7 "
    "to 8 with 3,072; of a namespace that has no room by itself SQL answers. 0: SQL answers always.",
)


# --- Reranking ---------------------------------------------------------------------------------------------------
env.section("Reranking")
MEMOS_RERANK_PROVIDER = env.text(
    "MEMOS_RERANK_PROVIDER",
    "off",
    f"Who reads the question with each of the best candidates, as a second stage: {describe(RERANKERS)}.",
    choices=(NO_RERANKER, *RERANKERS),
)
MEMOS_RERANK_MODEL_DIR = env.text(
    "MEMOS_RERANK_MODEL_DIR",
    "",
    "Folder of the `onnx` model: `tokenizer.json` and `model.onnx` or `onnx/model.onnx`.",
)
MEMOS_RERANK_URL = env.text(
    "MEMOS_RERANK_URL", "", "Whole address that the endpoint is asked at, e.g. `http://localhost:8080/rerank`."
)
MEMOS_RERANK_MODEL = env.text(
    "MEMOS_RERANK_MODEL",
    "",
    "Model name that the endpoint is asked for (not `tei`). For `onnx`: the graph's file in the folder, when it has "
    "another name.",
)
MEMOS_RERANK_API_KEY = env.text("MEMOS_RERANK_API_KEY", "", "Key of the endpoint.", secret=True)
MEMOS_RERANK_TIMEOUT_SECONDS = env.number(
    "MEMOS_RERANK_TIMEOUT_SECONDS",
    2.0,
    "Seconds that reranking may take; then the query is answered without.",
    minimum=0.05,
    maximum=60,
)

# --- Evaluation --------------------------------------------------------------------------------------------------

# --- Condensation ------------------------------------------------------------------------------------------------
env.section("Condensation")
MEMOS_LLM_ENABLED = env.flag(
    "MEMOS_LLM_ENABLED",
    False,
    "Answers and summaries by a language model; without it both are extractive.",
)
MEMOS_LLM_PROVIDER = env.text(
    "MEMOS_LLM_PROVIDER",
    "openai",
    "Provider of the language model: its address, its key and what it takes. Any other OpenAI-compatible endpoint: "
    "`openai` with MEMOS_LLM_BASE_URL.",
    choices=("openai", "anthropic", "qwen", "deepseek", "ollama", "vllm", "llamacpp", "hf"),
)
MEMOS_LLM_API_KEY = env.text(
    "MEMOS_LLM_API_KEY", "", "Key of the provider `openai`; without one it stays off.", secret=True
)
MEMOS_ANTHROPIC_API_KEY = env.text("MEMOS_ANTHROPIC_API_KEY", "", "Key of the provider `anthropic`.", secret=True)
MEMOS_QWEN_API_KEY = env.text("MEMOS_QWEN_API_KEY", "", "Key of the provider `qwen`.", secret=True)
MEMOS_DEEPSEEK_API_KEY = env.text("MEMOS_DEEPSEEK_API_KEY", "", "Key of the provider `deepseek`.", secret=True)
MEMOS_LLM_BASE_URL = env.text(
    "MEMOS_LLM_BASE_URL", "", "Address of MEMOS_LLM_PROVIDER, where it is not its usual one.", shown="the provider's"
)
MEMOS_LLM_MODEL = env.text("MEMOS_LLM_MODEL", "gpt-4o-mini", "Model that is asked for whatever has none of its own.")
MEMOS_LLM_ALLOWED_MODELS = env.words(
    "MEMOS_LLM_ALLOWED_MODELS",
    "",
    "Models that the policy of a namespace may choose, as `provider/model` or `provider/*`; empty: any of a provider "
    "that is set up.",
)
MEMOS_LLM_MODEL_NAMES = env.pairs(
    "MEMOS_LLM_MODEL_NAMES",
    "Names that clients may ask for, and the models that answer to them, such as `gpt-4o=ollama/qwen2.5:7b`; without "
    "a provider it is a model of MEMOS_LLM_PROVIDER.",
)
MEMOS_LLM_MEMORY_PLACE = env.pairs(
    "MEMOS_LLM_MEMORY_PLACE",
    "Where completions that are passed on have the memories, by provider or `provider/model`, such as `vllm=system`: "
    "in messages of their own (`apart`), in the first message of the system and the last of the user (`system`), or "
    "all in the last of the user (`user`). For others apart, and folded like this once the model refuses it.",
    choices=("apart", "system", "user"),
)
MEMOS_OLLAMA_BASE_URL = env.text(
    "MEMOS_OLLAMA_BASE_URL", "", "Address of the provider `ollama`.", shown="http://127.0.0.1:11434/v1"
)
MEMOS_VLLM_BASE_URL = env.text(
    "MEMOS_VLLM_BASE_URL", "", "Address of the provider `vllm`.", shown="http://127.0.0.1:8000/v1"
)
MEMOS_LLAMACPP_BASE_URL = env.text(
    "MEMOS_LLAMACPP_BASE_URL", "", "Address of the provider `llamacpp`.", shown="http://127.0.0.1:8080/v1"
)
MEMOS_HF_PYTHON = env.text(
    "MEMOS_HF_PYTHON",
    "",
    "Python that has what requirements-hf.txt names (`make install-hf` makes one): `make run` serves the models of the "
    "provider `hf` with it, in a process that starts on demand.",
)
MEMOS_HF_BASE_URL = env.text(
    "MEMOS_HF_BASE_URL",
    "",
    "Address of a `transformers serve` that runs elsewhere, for the provider `hf`.",
    shown="what MEMOS_HF_PYTHON serves",
)
MEMOS_LLM_CONCURRENCY = env.integer(
    "MEMOS_LLM_CONCURRENCY",
    8,
    "Calls of one model that one process makes at once; a further one waits a second, then gets 503.",
    minimum=1,
    maximum=10_000,
)
MEMOS_MODEL_PRICES = read_prices(
    env.text(
        "MEMOS_MODEL_PRICES",
        "",
        "Own prices in US dollars a million tokens, which go before the known ones: JSON such as "
        '`{"vllm/qwen3-32b": {"input": 0.1, "cached": 0.02, "output": 0.4}}`, or the path of a .json or .toml file. '
        "`call` is a price for each call.",
        shown="the known prices",
    )
)
MEMOS_LLM_ENTITIES = env.flag(
    "MEMOS_LLM_ENTITIES", False, "The language model also looks for names in every memory, beside the rules."
)
MEMOS_LLM_GATE = env.flag(
    "MEMOS_LLM_GATE",
    False,
    "The language model judges what the gate's rules suspect, while its writer waits; what is held stays held.",
)
MEMOS_LLM_SETTLING = env.flag(
    "MEMOS_LLM_SETTLING",
    False,
    "The language model judges, in the background, whether an update that was only linked holds; both texts of a pair "
    "are sent to it.",
)
MEMOS_LLM_TIMEOUT_SECONDS = env.number(
    "MEMOS_LLM_TIMEOUT_SECONDS",
    30.0,
    "Seconds that a call of the language model by MemOS itself may take in all: an answer, a summary, a verdict. For "
    "completions that are passed on it bounds only the connecting.",
    minimum=0.1,
    maximum=50,
)

# --- Policy ------------------------------------------------------------------------------------------------------
env.section("Policy")
# The values in force without any of a namespace, and the keys of those that the environment gives.
_given_policy = read_policy(
    env.pairs(
        "MEMOS_POLICY",
        "Values of the policy of all namespaces that have none of their own, by the keys of `GET /v1/policy`: "
        "`gate.personal_data=redact,ttl_days=365,models.judge=ollama/qwen2.5:7b`.",
    )
)
MEMOS_POLICY = DEFAULTS | _given_policy
MEMOS_POLICY_GIVEN = frozenset(_given_policy)

# --- Background work ---------------------------------------------------------------------------------------------
env.section("Background work")
MEMOS_JOB_WORKERS = env.integer(
    "MEMOS_JOB_WORKERS", 1, "Worker processes for short background jobs.", minimum=1, maximum=64
)
MEMOS_JOB_LONG_WORKERS = env.integer(
    "MEMOS_JOB_LONG_WORKERS",
    1,
    "Worker processes for long background jobs: trainings, imports, dumps, backups, calls of a language model.",
    minimum=1,
    maximum=64,
)
MEMOS_JOB_TIMEOUT_SECONDS = env.integer(
    "MEMOS_JOB_TIMEOUT_SECONDS", 60, "Seconds after which a background job is stopped.", minimum=2, maximum=86_400
)

# --- Files -------------------------------------------------------------------------------------------------------
env.section("Files")
MEMOS_OCR_FOLDER = env.text(
    "MEMOS_OCR_FOLDER",
    "",
    "Folder of Tesseract's language files (`eng.traineddata`): images are read by OCR. Empty: they are refused.",
)
MEMOS_OCR_LANGUAGES = env.text(
    "MEMOS_OCR_LANGUAGES", "eng", "Languages that OCR reads, as their files are called, with commas between them."
)

# --- Webhooks ----------------------------------------------------------------------------------------------------
env.section("Webhooks")
MEMOS_WEBHOOK_PRIVATE = env.flag(
    "MEMOS_WEBHOOK_PRIVATE",
    False,
    "Webhooks may lead to addresses that are not public (loopback, private and link-local networks), and by plain "
    "http. Whoever may make one then reaches this server's own network.",
)
MEMOS_WEBHOOK_WORKERS = env.integer(
    "MEMOS_WEBHOOK_WORKERS",
    2,
    "Worker processes that deliver to webhooks, one webhook each at a time; 0: nothing is delivered from here.",
    maximum=64,
)

# --- Backups -----------------------------------------------------------------------------------------------------
env.section("Backups")
MEMOS_BACKUP_DIR = env.text(
    "MEMOS_BACKUP_DIR",
    "",
    "Folder that the worker writes backups into, by the clock, best on another disk. Empty: none; `manage.py backup` "
    "then needs `--to`.",
)
MEMOS_BACKUP_KEY = env.text(
    "MEMOS_BACKUP_KEY",
    "",
    "Encrypts backups (AES-256-GCM), 16 characters or more. Keep it elsewhere: without it they cannot be restored. "
    "Empty: not encrypted.",
    secret=True,
)
MEMOS_CUBE_KEY = env.text(
    "MEMOS_CUBE_KEY",
    "",
    "Signs cubes' files (HMAC-SHA256), 16 characters or more: servers with the same one know each other's files. "
    "Empty: a key of this server's own.",
    secret=True,
)
MEMOS_CUBE_SIGNING_KEY = env.text(
    "MEMOS_CUBE_SIGNING_KEY",
    "",
    "Private Ed25519 key (32 bytes in base64) that signs cubes' files in place of MEMOS_CUBE_KEY: receivers need its "
    "public key only, which `manage.py dump_cube --show-key` prints.",
    secret=True,
)
MEMOS_CUBE_TRUSTED_KEYS = env.words(
    "MEMOS_CUBE_TRUSTED_KEYS",
    "",
    "Public Ed25519 keys (base64) of other servers, comma-separated: files signed by them are from a known sender.",
)
MEMOS_BACKUP_HOURS = env.integer(
    "MEMOS_BACKUP_HOURS", 24, "Hours from one scheduled backup to the next.", minimum=1, maximum=8760
)
MEMOS_BACKUP_KEEP = env.integer(
    "MEMOS_BACKUP_KEEP", 14, "Newest backups that a scheduled one leaves in the folder.", minimum=1, maximum=10_000
)
MEMOS_BACKUP_KEEP_DAYS = env.integer(
    "MEMOS_BACKUP_KEEP_DAYS", 0, "Days for which older ones are left as well; 0: none.", maximum=36_500
)
MEMOS_BACKUP_VERIFY = env.flag(
    "MEMOS_BACKUP_VERIFY",
    True,
    "Scheduled backups are restored into a scratch database and compared (needs CREATEDB, and room for it).",
)
MEMOS_ERASURE_LEDGER = env.text(
    "MEMOS_ERASURE_LEDGER",
    str(Path(MEMOS_BACKUP_DIR or MEMOS_DATA_DIR) / "erasures.ledger"),
    "File that says, by ids and keyed hashes, what was erased, so that no older backup brings it back. An erasure "
    "waits while it cannot be written. `off`: none is kept.",
    shown="`erasures.ledger` in MEMOS_BACKUP_DIR, else in the data folder",
)

# --- Activation memory -------------------------------------------------------------------------------------------
env.section("Activation memory")
MEMOS_ACTIVATION_DIR = env.text(
    "MEMOS_ACTIVATION_DIR",
    "",
    "Folder of activation caches: keys and values that a model computed for a prefix. llama.cpp's server writes and "
    "reads it as well (its `--slot-save-path`), and so does every web process and worker. Empty: there are none.",
)
MEMOS_ACTIVATION_BYTES = env.integer(
    "MEMOS_ACTIVATION_BYTES",
    8 * 1024**3,
    "Bytes that the files of the folder may take; the caches that were used longest ago make room.",
    minimum=1_000_000,
    maximum=2**50,
)
MEMOS_ACTIVATION_MODEL = env.text(
    "MEMOS_ACTIVATION_MODEL",
    "",
    "Causal language model on this disk for caches of the engine `transformers`: a folder with safetensors, or a GGUF "
    "file. Needs requirements-activation.txt. Empty: that engine is off.",
)

# --- Adapters ----------------------------------------------------------------------------------------------------
env.section("Adapters")
MEMOS_ADAPTER_BASE_MODEL = env.text(
    "MEMOS_ADAPTER_BASE_MODEL",
    "",
    "The model that adapters are trained on: a folder in the layout of transformers (safetensors), or a GGUF file. "
    "Empty: none is trained.",
)
MEMOS_TRAINER_PYTHON = env.text(
    "MEMOS_TRAINER_PYTHON",
    "",
    "Python that has what requirements-train.txt names (`make install-train` makes one). Empty: MemOS's own.",
)
MEMOS_ADAPTER_SERVERS = env.words(
    "MEMOS_ADAPTER_SERVERS",
    "",
    "Addresses of servers with vLLM's routes that active adapters are loaded into. No others are spoken to; best "
    "on the machine itself or a network of its own.",
)
MEMOS_ADAPTER_SERVER_KEY = env.text(
    "MEMOS_ADAPTER_SERVER_KEY", "", "Sent to these servers as a bearer token. Empty: none.", secret=True
)

# --- Console -----------------------------------------------------------------------------------------------------
env.section("Console")
MEMOS_REQUEST_LOG = env.integer(
    "MEMOS_REQUEST_LOG",
    20_000,
    "Newest API requests that the console can list (in Redis; without bodies and query texts). 0: no request is "
    "recorded, and the console has no figures of rates and latencies.",
    maximum=1_000_000,
)

# --- Constants, which are not read from the environment: tests shorten them -----------------------------------------
# Messages that the session window (L1) keeps, and how long after the last of them it lives.
MEMOS_WINDOW_MESSAGES = 20
MEMOS_WINDOW_TTL_SECONDS = 3600
# A whole request, headers and body, must arrive within it; then it is answered 408.
MEMOS_RECEIVE_SECONDS = 30
# The largest file of `POST /v1/documents`: in base64 it has a third more.
MEMOS_FILE_MAX_BYTES = MEMOS_MAX_BODY_BYTES * 3 // 4
# Characters that an answer at `/mcp` may have. What is longer comes as previews with ids, and in pages.
MEMOS_MCP_RESULT_CHARS = 25_000
# Algorithms that a token may be signed with.
MEMOS_OAUTH_ALGORITHMS = ["RS256", "ES256"]
# Name of the staff login that the first start makes.
MEMOS_ADMIN_USER = "admin"
# Encoding that tokens are counted with.
MEMOS_TOKENIZER = "o200k_base"
# Above it a namespace is large: the worker makes an HNSW index of its vectors and counts its common words, and a
# search follows the index and looks at the rarer words first. Below, every search is exact.
MEMOS_LARGE_NAMESPACE_MEMORIES = 10_000
# Large namespaces that have an HNSW index, the largest first. Every statement about vectors considers each index.
MEMOS_HNSW_NAMESPACES = 8
# PostgreSQL ends a longer statement of a search; the answer is then 503 `search_timeout`.
MEMOS_SEARCH_TIMEOUT_MS = 2000
# Candidates that the reranker reads.
MEMOS_RERANK_CANDIDATES = 50
# What the best candidate gets added to its score, which is at most about 1 without; the worst gets 0.
MEMOS_RERANK_WEIGHT = 2.0
# Tokens of a text, with the question for `onnx`, that the reranker reads.
MEMOS_RERANK_MAX_TOKENS = 512
MEMOS_RERANK_THREADS = 2
# Its subfolders are the datasets that `POST /v1/evaluations` may name.
MEMOS_EVALUATION_DIR = str(MEMOS_DATA_DIR / "datasets")
# New messages that one summary takes in at most.
MEMOS_SUMMARY_BATCH_MESSAGES = 40
# A summary that was asked for and did not come by then is asked for again.
MEMOS_SUMMARY_LOCK_SECONDS = 30
# Failures of a model in a row after which it is left alone, and for how many seconds; then one call tries it.
MEMOS_LLM_BREAKER_FAILURES = 5
MEMOS_LLM_BREAKER_SECONDS = 30.0
# A writer waits so long for the model's verdict.
MEMOS_LLM_GATE_SECONDS = 5.0
# Pairs that the model judges in one run; a run begins every minute.
MEMOS_LLM_SETTLING_PER_RUN = 20
# A completion that is passed on may send nothing for so long.
MEMOS_LLM_RELAY_IDLE_SECONDS = 900.0
# When a failed job, or one whose worker died, is tried again: not before a slow one has been stopped.
MEMOS_JOB_RETRY_SECONDS = MEMOS_JOB_TIMEOUT_SECONDS * 3 // 2
# Times that a failing job is tried.
MEMOS_JOB_ATTEMPTS = 5
# Days that a job that ended well or was discarded stays listed; a failed one stays until someone sees to it.
MEMOS_JOBS_KEEP_DAYS = 7
# Seconds that a delivery may take, its answer included.
MEMOS_WEBHOOK_SECONDS = 10.0
# A scheduled backup that takes longer is stopped.
MEMOS_BACKUP_TIMEOUT_SECONDS = 21_600
# Adapters that were trained; the servers that load them see the folder under this path.
MEMOS_ADAPTERS_DIR = str(MEMOS_DATA_DIR / "adapters")
# Days that the files of a training export, each call of a model, and the figures of requests by minute are kept.
MEMOS_TRAINING_KEEP_DAYS = 30
MEMOS_MODEL_CALLS_DAYS = 90
MEMOS_REQUEST_FIGURES_DAYS = 30

# Variables that no setting reads, with the setting that each is nearest to.
MEMOS_UNKNOWN = env.find_unknown()

if not SECRET_KEY:
    raise ConfigurationError(
        "MEMOS_SECRET_KEY is not set: start with `make run` (which makes one), or set it to the output of "
        "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`"
    )
if MEMOS_ANONYMOUS and not DEBUG:
    raise ConfigurationError(
        "MEMOS_ANONYMOUS=1 opens every memory to everyone and is refused when MEMOS_DEBUG is off: "
        "set MEMOS_DEBUG=1 on a development machine, or give clients a key (`manage.py issue_api_key`)"
    )

# API keys are checked against an HMAC under this key; it differs from SECRET_KEY so that neither reveals the other.
MEMOS_KEY_PEPPER = hashlib.sha256(b"memos.api-key:" + SECRET_KEY.encode()).hexdigest()

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    # Before django_q, whose command `qcluster` it replaces.
    "memos_site",
    "django_q",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "memory",
    "ops",
]

MIDDLEWARE = [
    # Outermost, so that a browser may read refusals too.
    "corsheaders.middleware.CorsMiddleware",
    "memos_site.middleware.RequestMiddleware",
    "memos_site.middleware.RouteSlashMiddleware",
    "memos_site.middleware.PagesPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "memos_site.middleware.PagesLanguageMiddleware",
    "memos_site.middleware.PagesSlashMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ops.middleware.StaffLoginMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Last: puts the page of a lock-out in place of the form's answer.
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "memos_site.urls"
WSGI_APPLICATION = "memos_site.wsgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

_database = dj_database_url.parse(
    DATABASE_URL or "postgresql://postgres@localhost:5432/memos", conn_max_age=600, conn_health_checks=True
)
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "memory.postgresql",
        # Statements of the hot routes are prepared; each says so itself (memory.models.sql).
        "OPTIONS": {**_database.get("OPTIONS", {}), "prepare_threshold": 5},
        "TEST": {"NAME": "test_memos"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_redis = {
    "BACKEND": "django_redis.cache.RedisCache",
    "LOCATION": REDIS_URL or "redis://localhost:6379/0",
    "KEY_PREFIX": "memos",
    "OPTIONS": {
        # Not pickle: who can write to Redis must not be able to run code here.
        "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
        "SOCKET_CONNECT_TIMEOUT": 0.5,
        "SOCKET_TIMEOUT": 1.0,
        "CONNECTION_POOL_KWARGS": {"max_connections": 100, "health_check_interval": 30},
    },
}
CACHES = {
    "default": _redis,
    # Logins of staff, cached for at most a minute each.
    "sessions": {
        **_redis,
        "BACKEND": "memory.stores.session_cache.SessionCache",
        "KEY_FUNCTION": "memory.stores.session_cache.hash_key",
        "TIMEOUT": 60,
    },
}

# django-q2's clusters, with processes of their own each. The default one takes short jobs and runs the schedules.
Q_CLUSTER: dict[str, Any] = {
    "name": "memos",
    "orm": "default",
    "broker_class": "memory.services.jobs.broker.JobBroker",
    "workers": MEMOS_JOB_WORKERS,
    "ALT_CLUSTERS": {
        "interactive": {"workers": 1, "scheduler": False, "poll": 0.2},
        # Long jobs leave the processor to short ones.
        "bulk": {"workers": MEMOS_JOB_LONG_WORKERS, "scheduler": False, "poll": 1.0, "niceness": 5},
        "webhooks": {
            "workers": MEMOS_WEBHOOK_WORKERS,
            "scheduler": False,
            # A worker delivers for 10 s, and its last delivery may take as long again.
            "timeout": 60,
            "broker_class": "memory.services.webhooks.broker.WebhookBroker",
        },
    },
    "timeout": MEMOS_JOB_TIMEOUT_SECONDS,
    "retry": MEMOS_JOB_RETRY_SECONDS,
    "max_attempts": MEMOS_JOB_ATTEMPTS,
    "ack_failures": False,
    # A worker claims its job when it takes a message: more messages would wait for nothing.
    "queue_limit": 1,
    "bulk": 1,
    "poll": 0.5,
    "guard_cycle": 1,
    "catch_up": False,
    # Our own table of jobs records the results.
    "save_limit": -1,
    "recycle": 2000,
    "label": "Background jobs",
    "cache": "default",
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memory.api.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["memory.api.permissions.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["memory.api.throttling.KeyThrottle"],
    "DEFAULT_PARSER_CLASSES": ["memory.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["memory.api.renderers.FastJSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "memory.api.schema.OperationSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "memory.api.renderers.JSONAlways",
    "EXCEPTION_HANDLER": "memory.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "MemOS",
    "DESCRIPTION": (
        "Memory-as-a-service for AI agents: remember what was said, find it again, condense it.\n\n"
        "Send the key as `Authorization: Bearer mos_…`; `manage.py issue_api_key` makes one. The examples find "
        "something in the namespace `demo`, which `make run` fills and `manage.py seed_demo` fills again.\n\n"
        "Clients must bear more fields and more values of enumerations than are named here: later versions add some."
    ),
    "LICENSE": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
    "EXTERNAL_DOCS": {"description": "The guide", "url": "/guide/"},
    "SERVERS": [{"url": "/", "description": "This server"}],
    "TAGS": [{"name": tag.name, "description": tag.says} for tag in ROUTE_TAGS],
    "OAS_VERSION": "3.1.0",
    "VERSION": tomllib.loads((BASE_DIR / "pyproject.toml").read_text("utf-8"))["project"]["version"],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "defaultModelsExpandDepth": 0,
        "displayRequestDuration": True,
    },
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "PATH_CONVERTER_OVERRIDES": {"id": {"type": "string", "format": "uuid"}},
    "SCHEMA_PATH_PREFIX": "/v1",
    # Fields of one name with different choices, for which the schema would have to invent names.
    "ENUM_NAME_OVERRIDES": {
        "AuditEventEnum": "memory.enums.AuditEvent",
        "CubeKindEnum": "memory.enums.CubeKind",
        "CubeLevelEnum": "memory.api.serializers.cubes.LEVELS",
        "DegradationEnum": "memory.enums.Degradation",
        "EntityKindEnum": "memory.enums.EntityKind",
        "ErasureReceiptStatusEnum": "memory.api.serializers.erasure.STATES",
        "ErrorCodeEnum": "memory.enums.ErrorCode",
        "EvaluationStatusEnum": "memory.enums.EvaluationStatus",
        "EventTypeEnum": "memory.enums.EventType",
        "FactTypeEnum": "memory.api.hindsight.serializers.FACT_TYPES",
        "FeedbackEnum": "memory.enums.Feedback",
        "FormatEnum": "memory.enums.DocumentFormat",
        "ImportFormatEnum": "memory.enums.ImportFormat",
        "ImportStateEnum": "memory.enums.ImportState",
        "CubeFileKindEnum": "memory.enums.CubeFileKind",
        "CubeFileStateEnum": "memory.enums.CubeFileState",
        "CubeIdsEnum": "memory.enums.CubeIds",
        "CubeSignatureEnum": "memory.enums.CubeSignature",
        "LinkKindEnum": "memory.enums.LinkKind",
        "MemTensorMemoryTypeEnum": "memory.api.memtensor.answers.TYPES",
        "MemTensorProgressEnum": "memory.api.memtensor.answers.PROGRESS",
        "MemoryKindEnum": "memory.enums.MemoryKind",
        "MemoryStateEnum": "memory.enums.MemoryState",
        "QuarantineStateEnum": "memory.enums.QuarantineState",
        "JobStateEnum": "memory.enums.JobState",
        "PackSectionEnum": "memory.enums.PackSection",
        "RoleEnum": "memory.enums.Role",
        "RoleNameEnum": "memory.api.message_fields.ROLE_NAMES",
        "ShareLevelEnum": "memory.enums.ShareLevel",
        "VerdictEnum": "memory.enums.Verdict",
        "GateDecisionEnum": "memory.enums.GateDecision",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memory.api.filter_schema.add_filter",
        "memory.api.schema.share_refusals",
    ],
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
CSRF_FAILURE_VIEW = "ops.views.errors.csrf_failure"
LOGIN_REDIRECT_URL = "/ops/"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "memos_site.formats"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

# The output of `make guide`, shown at /guide/.
GUIDE_DIR = BASE_DIR / "site"

STATIC_URL = "/static/"
STATIC_ROOT = MEMOS_DATA_DIR / "static"
STATICFILES_DIRS: list[Path] = []
WHITENOISE_USE_FINDERS = True

CORS_ALLOWED_ORIGINS = [] if MEMOS_CORS_ORIGINS == ["off"] else MEMOS_CORS_ORIGINS
CORS_ALLOW_HEADERS = (
    "accept",
    "authorization",
    "content-type",
    "idempotency-key",
    "if-match",
    "x-request-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
)
CORS_EXPOSE_HEADERS = ("etag", "x-request-id", "retry-after", "www-authenticate")

DATA_UPLOAD_MAX_MEMORY_SIZE = MEMOS_MAX_BODY_BYTES
SESSION_ENGINE = "ops.sign_in"
SESSION_CACHE_ALIAS = "sessions"
AUTHENTICATION_BACKENDS = ["ops.sign_in.LockOutBackend", "ops.sign_in.AccountBackend"]

# Failures are counted in the database, which signing in needs anyway: Redis may be away.
AXES_LOCKOUT_PARAMETERS = ["username", "ip_address"]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
# Further attempts do not extend a lock-out.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "ops.logins.address_of"
AXES_LOCKOUT_CALLABLE = "ops.lock_out.respond_locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "otp_token", "csrfmiddlewaretoken"]

OTP_TOTP_ISSUER = "MemOS"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = MEMOS_HTTPS
CSRF_COOKIE_SECURE = MEMOS_HTTPS
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 31_536_000 if MEMOS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = MEMOS_HTTPS
SECURE_HSTS_PRELOAD = MEMOS_HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if MEMOS_HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The proxy redirects to HTTPS: health checks reach this server by HTTP from inside.
SILENCED_SYSTEM_CHECKS = ["security.W008"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "memos_site.logging.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": MEMOS_LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        # The request log of MemOS says the same in one line with the request's id.
        "django.request": {"level": "ERROR"},
        "django-q": {"level": "WARNING"},
        # The lines of axes name no account; an audit event records each lock-out.
        "axes": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
    },
}
