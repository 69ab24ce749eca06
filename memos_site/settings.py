"""Django settings. Each setting for operators is declared once, with its help text (see memory.conf)."""

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
    Path(env.text("MEMOS_DATA_DIR", str(BASE_DIR / "data"), "Folder for all data of `make run`.", shown="./data"))
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
    "`make run` makes one and stores it in the data folder; elsewhere it must be set.",
    secret=True,
    shown="made by `make run`",
)
_hosts = env.words("MEMOS_ALLOWED_HOSTS", "", "Host names under which the server may be called, besides localhost.")
# Probes and management on the machine itself use the last three.
ALLOWED_HOSTS = [*_hosts, "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.words(
    "MEMOS_TRUSTED_ORIGINS", "", "Origins (https://memos.example.com) at which staff log in behind a proxy."
)
MEMOS_HTTPS = env.flag(
    "MEMOS_HTTPS",
    False,
    "The server is reached by HTTPS through a proxy that sets X-Forwarded-Proto: secure cookies, HSTS.",
)
# The address at which programs reach the server: that of `make run` on the data folder, else that of these settings.
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
    "Web server processes. Use half the number of processors plus one; PostgreSQL and the embedding need the rest.",
    minimum=1,
    maximum=64,
)
MEMOS_WEB_THREADS = env.integer(
    "MEMOS_WEB_THREADS",
    4,
    "Requests that a web server process works on at once, each with a connection to PostgreSQL.",
    minimum=1,
    maximum=64,
)

MEMOS_TELEMETRY = env.flag(
    "MEMOS_TELEMETRY",
    False,
    "Sends traces and metrics by OTLP (HTTP) to the address in OpenTelemetry's own OTEL_EXPORTER_OTLP_ENDPOINT. Needs "
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
    "Requests a minute that one API key may make; 0: no limit. A key may have its own limit.",
)
MEMOS_MAX_BODY_BYTES = env.integer(
    "MEMOS_MAX_BODY_BYTES", 32 * 1024 * 1024, "Largest request body in bytes; more is answered 413.", minimum=100_000
)
MEMOS_MAX_UPLOAD_BYTES = env.integer(
    "MEMOS_MAX_UPLOAD_BYTES",
    1024 * 1024 * 1024,
    "Largest file in bytes that may be uploaded in parts. It also limits the total of one key's uploads to a namespace "
    "until they are imported or loaded; the total of a namespace may be four times that. Uploads are in the database.",
    minimum=1,
)
MEMOS_REQUEST_SECONDS = env.integer(
    "MEMOS_REQUEST_SECONDS",
    60,
    "Time limit in seconds for an API request, and for each statement of any request; then the answer is 503 "
    "`deadline_exceeded`, and nothing was written.",
    minimum=1,
    maximum=3600,
)
MEMOS_STREAMS_PER_KEY = env.integer(
    "MEMOS_STREAMS_PER_KEY",
    16,
    "Streams and answers of models that one API key may have open at once; a further one is answered 503 "
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
    "Issuer whose OAuth tokens `/mcp` accepts besides API keys, such as `https://login.example.com`: exactly the value "
    "of `iss` in its tokens. Empty: API keys only.",
)
MEMOS_OAUTH_AUDIENCE = env.text(
    "MEMOS_OAUTH_AUDIENCE",
    "",
    "Address of `/mcp` for clients, such as `https://memos.example.com/mcp`; tokens must have it in `aud`.",
)
MEMOS_OAUTH_JWKS_URL = env.text(
    "MEMOS_OAUTH_JWKS_URL", "", "Address of the issuer's keys. Empty: the one in its metadata."
)
MEMOS_OAUTH_NAMESPACES_CLAIM = env.text(
    "MEMOS_OAUTH_NAMESPACES_CLAIM",
    "memos_namespaces",
    "Claim of a token that names the namespaces its bearer reaches: a list, or words separated by spaces. The scopes "
    "are `memos:read`, `memos:write` and `memos:admin` in `scope` or `scp`.",
)

MEMOS_ADMIN_PASSWORD = env.text(
    "MEMOS_ADMIN_PASSWORD",
    "",
    "Password of the staff login `admin`, which the first start makes.",
    secret=True,
    shown="made and shown by the first start",
)
MEMOS_PROXIES = env.integer(
    "MEMOS_PROXIES",
    1 if MEMOS_HTTPS else 0,
    "Number of your own proxies in front, each of which appends its caller's address to X-Forwarded-For. If it is too "
    "low, all sign-ins seem to come from the proxy; if it is too high, attackers can choose their address.",
    maximum=10,
    shown="1 with MEMOS_HTTPS=1, else 0",
)
MEMOS_STAFF_SECOND_FACTOR = env.text(
    "MEMOS_STAFF_SECOND_FACTOR",
    "optional",
    "One-time codes of an app (TOTP) for staff. `required`: without them, only the page that sets them up opens.",
    choices=("optional", "required"),
)
MEMOS_CORS_ORIGINS = env.words(
    "MEMOS_CORS_ORIGINS",
    "http://localhost:3000,http://127.0.0.1:3000,http://localhost:5173,http://127.0.0.1:5173",
    "Origins whose browser pages may call the API, with an API key. `off`: none.",
)

# --- Embedding ---------------------------------------------------------------------------------------------------
env.section("Embedding")
MEMOS_EMBEDDING_PROVIDER = env.text(
    "MEMOS_EMBEDDING_PROVIDER",
    "minilm",
    f"Provider of vectors: {describe(EMBEDDING_PROVIDERS)}. On a "
    "server with memories, change it by `manage.py reembed`.",
    choices=tuple(EMBEDDING_PROVIDERS),
)
MEMOS_EMBEDDING_MODEL = env.text(
    "MEMOS_EMBEDDING_MODEL",
    "",
    "Model name. For `minilm`: `all-MiniLM-L6-v2-int8-zh` (default) or `all-MiniLM-L6-v2-fp32-zh` (half the speed); "
    "models without `-zh` cannot read Chinese.",
    shown="the provider's own",
)
MEMOS_EMBEDDING_DIMENSIONS = env.integer(
    "MEMOS_EMBEDDING_DIMENSIONS",
    0,
    "Dimensions of the `openai` provider's vectors; 0: the model is asked once.",
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
    "Unix socket of a process that runs the model (`minilm`) for all processes of the machine, started with "
    "`python -m memory.providers.minilm.server`. Empty: each process loads the model, 60 MB.",
    shown="the one that `make run` starts",
)
MEMOS_MODEL_DIR = Path(
    env.text(
        "MEMOS_MODEL_DIR",
        str(MEMOS_DATA_DIR / "models"),
        "Folder for files that are made once from installed packages: the ONNX graph of the weights, the dictionary "
        "and the word lists of names.",
        shown="`models` in the data folder",
    )
).expanduser()

# --- Retrieval ---------------------------------------------------------------------------------------------------
env.section("Retrieval")
MEMOS_PACK_MAX_TOKENS = env.integer(
    "MEMOS_PACK_MAX_TOKENS",
    0,
    "Limit on the tokens of a context pack's text if the query names no `max_tokens`; 0: no limit.",
    maximum=200_000,
)

MEMOS_COLUMNS_MB = env.integer(
    "MEMOS_COLUMNS_MB",
    24,
    "Megabytes that each web process may use to hold the indexes of searched namespaces in memory, which is faster "
    "than SQL. A thousand memories take 1.5 to 2.5 with vectors of 384 dimensions, 7 to 8 with 3,072. SQL answers for "
    "a namespace that does not fit by itself. 0: SQL always answers.",
)


# --- Reranking ---------------------------------------------------------------------------------------------------
env.section("Reranking")
MEMOS_RERANK_PROVIDER = env.text(
    "MEMOS_RERANK_PROVIDER",
    "off",
    f"Second stage, which reads the question with each of the best candidates: {describe(RERANKERS)}.",
    choices=(NO_RERANKER, *RERANKERS),
)
MEMOS_RERANK_MODEL_DIR = env.text(
    "MEMOS_RERANK_MODEL_DIR",
    "",
    "Folder of the `onnx` model: `tokenizer.json` and `model.onnx` or `onnx/model.onnx`.",
)
MEMOS_RERANK_URL = env.text(
    "MEMOS_RERANK_URL", "", "Full address of the endpoint, e.g. `http://localhost:8080/rerank`."
)
MEMOS_RERANK_MODEL = env.text(
    "MEMOS_RERANK_MODEL",
    "",
    "Model name that is sent to the endpoint (not to `tei`). For `onnx`: the graph's file in the folder, if it has "
    "another name.",
)
MEMOS_RERANK_API_KEY = env.text("MEMOS_RERANK_API_KEY", "", "Key of the endpoint.", secret=True)
MEMOS_RERANK_TIMEOUT_SECONDS = env.number(
    "MEMOS_RERANK_TIMEOUT_SECONDS",
    2.0,
    "Seconds that reranking may take; then the query is answered without it.",
    minimum=0.05,
    maximum=60,
)

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
    "Provider of the language model, with its address, key and parameters. For any other OpenAI-compatible endpoint: "
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
    "MEMOS_LLM_BASE_URL", "", "Address of MEMOS_LLM_PROVIDER, if it is not the usual one.", shown="the provider's"
)
MEMOS_LLM_MODEL = env.text("MEMOS_LLM_MODEL", "gpt-4o-mini", "Model for all purposes that have no model of their own.")
MEMOS_LLM_ALLOWED_MODELS = env.words(
    "MEMOS_LLM_ALLOWED_MODELS",
    "",
    "Models that the policy of a namespace may choose, as `provider/model` or `provider/*`. Empty: all models of "
    "configured providers.",
)
MEMOS_LLM_MODEL_NAMES = env.pairs(
    "MEMOS_LLM_MODEL_NAMES",
    "Model names that clients may use, and the models that answer, such as `gpt-4o=ollama/qwen2.5:7b`; a model without "
    "a provider is one of MEMOS_LLM_PROVIDER.",
)
MEMOS_LLM_MEMORY_PLACE = env.pairs(
    "MEMOS_LLM_MEMORY_PLACE",
    "Place of the memories in forwarded completions, by provider or `provider/model`, such as `vllm=system`: in "
    "separate messages (`apart`), in the first system message and the last user message (`system`), or all in the last "
    "user message (`user`). Other models get them apart, and in the next of these places once they refuse that.",
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
    "Python with the packages of requirements-hf.txt (`make install-hf` makes one). `make run` serves the models of "
    "the provider `hf` with it, in a process that starts on demand.",
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
    "Calls of one model that a process makes at once; a further call waits for a second, and then gets 503.",
    minimum=1,
    maximum=10_000,
)
MEMOS_MODEL_PRICES = read_prices(
    env.text(
        "MEMOS_MODEL_PRICES",
        "",
        "Prices in US dollars per million tokens, which override the known ones: JSON such as "
        '`{"vllm/qwen3-32b": {"input": 0.1, "cached": 0.02, "output": 0.4}}`, or the path of a .json or .toml file. '
        "`call` is the price of a call.",
        shown="the known prices",
    )
)
MEMOS_LLM_ENTITIES = env.flag(
    "MEMOS_LLM_ENTITIES", False, "The language model also looks for names in every memory, besides the rules."
)
MEMOS_LLM_GATE = env.flag(
    "MEMOS_LLM_GATE",
    False,
    "The language model judges texts that the gate's rules suspect, while the writer waits. It does not judge texts "
    "that the rules quarantine.",
)
MEMOS_LLM_SETTLING = env.flag(
    "MEMOS_LLM_SETTLING",
    False,
    "The language model judges in the background whether an update that was only linked is right; both texts of a pair "
    "are sent to it.",
)
MEMOS_LLM_TIMEOUT_SECONDS = env.number(
    "MEMOS_LLM_TIMEOUT_SECONDS",
    30.0,
    "Time limit in seconds for a call of the language model by MemOS itself: an answer, a summary, a verdict. For "
    "forwarded completions it only limits the time to connect.",
    minimum=0.1,
    maximum=50,
)

# --- Policy ------------------------------------------------------------------------------------------------------
env.section("Policy")
# The policy of namespaces that set no values, and the keys that the environment sets.
_given_policy = read_policy(
    env.pairs(
        "MEMOS_POLICY",
        "Policy values of all namespaces that do not set them, by the keys of `GET /v1/policy`: "
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
    "MEMOS_OCR_LANGUAGES", "eng", "Languages that OCR reads, by the names of their files, comma-separated."
)

# --- Webhooks ----------------------------------------------------------------------------------------------------
env.section("Webhooks")
MEMOS_WEBHOOK_PRIVATE = env.flag(
    "MEMOS_WEBHOOK_PRIVATE",
    False,
    "Webhooks may use plain http, and addresses that are not public (loopback, private and link-local networks). "
    "Callers who may create webhooks can then reach this server's own network.",
)
MEMOS_WEBHOOK_WORKERS = env.integer(
    "MEMOS_WEBHOOK_WORKERS",
    2,
    "Worker processes that deliver to webhooks, each to one webhook at a time; 0: this server delivers nothing.",
    maximum=64,
)

# --- Backups -----------------------------------------------------------------------------------------------------
env.section("Backups")
MEMOS_BACKUP_DIR = env.text(
    "MEMOS_BACKUP_DIR",
    "",
    "Folder into which the worker writes scheduled backups, preferably on another disk. Empty: no scheduled backups, "
    "and `manage.py backup` needs `--to`.",
)
MEMOS_BACKUP_KEY = env.text(
    "MEMOS_BACKUP_KEY",
    "",
    "Encrypts backups (AES-256-GCM), 16 characters or more. Store a copy elsewhere, because backups cannot be restored "
    "without it. Empty: not encrypted.",
    secret=True,
)
MEMOS_CUBE_KEY = env.text(
    "MEMOS_CUBE_KEY",
    "",
    "Signs cubes' files (HMAC-SHA256), 16 characters or more. Servers with the same key recognise each other's files. "
    "Empty: a key that only this server has.",
    secret=True,
)
MEMOS_CUBE_SIGNING_KEY = env.text(
    "MEMOS_CUBE_SIGNING_KEY",
    "",
    "Private Ed25519 key (32 bytes in base64) that signs cubes' files instead of MEMOS_CUBE_KEY. Receivers only need "
    "its public key, which `manage.py dump_cube --show-key` prints.",
    secret=True,
)
MEMOS_CUBE_TRUSTED_KEYS = env.words(
    "MEMOS_CUBE_TRUSTED_KEYS",
    "",
    "Public Ed25519 keys (base64) of other servers, comma-separated. Files that they sign are from a known sender.",
)
MEMOS_BACKUP_HOURS = env.integer(
    "MEMOS_BACKUP_HOURS", 24, "Hours from one scheduled backup to the next.", minimum=1, maximum=8760
)
MEMOS_BACKUP_KEEP = env.integer(
    "MEMOS_BACKUP_KEEP", 14, "Newest backups that a scheduled one keeps in the folder.", minimum=1, maximum=10_000
)
MEMOS_BACKUP_KEEP_DAYS = env.integer(
    "MEMOS_BACKUP_KEEP_DAYS", 0, "Days for which older backups are kept as well; 0: none.", maximum=36_500
)
MEMOS_BACKUP_VERIFY = env.flag(
    "MEMOS_BACKUP_VERIFY",
    True,
    "Scheduled backups are restored into a scratch database and compared (needs CREATEDB, and disk space).",
)
MEMOS_ERASURE_LEDGER = env.text(
    "MEMOS_ERASURE_LEDGER",
    str(Path(MEMOS_BACKUP_DIR or MEMOS_DATA_DIR) / "erasures.ledger"),
    "File that records erasures by ids and keyed hashes, so that no older backup brings memories back. Erasures wait "
    "while it cannot be written. `off`: no ledger.",
    shown="`erasures.ledger` in MEMOS_BACKUP_DIR, else in the data folder",
)

# --- Activation memory -------------------------------------------------------------------------------------------
env.section("Activation memory")
MEMOS_ACTIVATION_DIR = env.text(
    "MEMOS_ACTIVATION_DIR",
    "",
    "Folder of activation caches: keys and values that a model computed for a prefix. llama.cpp's server (its "
    "`--slot-save-path`), all web processes and workers write and read it. Empty: no caches.",
)
MEMOS_ACTIVATION_BYTES = env.integer(
    "MEMOS_ACTIVATION_BYTES",
    8 * 1024**3,
    "Limit on the bytes of the folder's files; the least recently used caches are deleted first.",
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
    "Empty: no training.",
)
MEMOS_TRAINER_PYTHON = env.text(
    "MEMOS_TRAINER_PYTHON",
    "",
    "Python with the packages of requirements-train.txt (`make install-train` makes one). Empty: MemOS's own.",
)
MEMOS_ADAPTER_SERVERS = env.words(
    "MEMOS_ADAPTER_SERVERS",
    "",
    "Addresses of servers with vLLM's routes, into which active adapters are loaded. No other servers are called. They "
    "should be on this machine or in a private network.",
)
MEMOS_ADAPTER_SERVER_KEY = env.text(
    "MEMOS_ADAPTER_SERVER_KEY", "", "Bearer token for these servers. Empty: none.", secret=True
)

# --- Console -----------------------------------------------------------------------------------------------------
env.section("Console")
MEMOS_REQUEST_LOG = env.integer(
    "MEMOS_REQUEST_LOG",
    20_000,
    "Newest API requests that the console can list (in Redis, without bodies and query texts). 0: requests are not "
    "recorded, and the console has no rates and latencies.",
    maximum=1_000_000,
)

# --- Constants, which are not read from the environment, and which tests shorten -------------------------------------
# The messages that the session window (L1) keeps, and its lifetime after the last of them.
MEMOS_WINDOW_MESSAGES = 20
MEMOS_WINDOW_TTL_SECONDS = 3600
# Seconds in which a whole request, headers and body, must arrive; otherwise it is answered 408.
MEMOS_RECEIVE_SECONDS = 30
# The largest file of `POST /v1/documents`, which is a third larger in the body, because of base64.
MEMOS_FILE_MAX_BYTES = MEMOS_MAX_BODY_BYTES * 3 // 4
# The limit on characters of an answer at `/mcp`; longer ones are shortened to previews with ids, and pages.
MEMOS_MCP_RESULT_CHARS = 25_000
# Algorithms that a token may be signed with.
MEMOS_OAUTH_ALGORITHMS = ["RS256", "ES256"]
# Name of the staff login that the first start makes.
MEMOS_ADMIN_USER = "admin"
# The encoding by which tokens are counted.
MEMOS_TOKENIZER = "o200k_base"
# A namespace with more memories is large: the worker makes an HNSW index of its vectors and counts its common words,
# and searches use the index and read rare words first. In smaller namespaces all searches are exact.
MEMOS_LARGE_NAMESPACE_MEMORIES = 10_000
# The number of large namespaces with an HNSW index, the largest first. It is limited because the planner considers all
# indexes for each statement about vectors.
MEMOS_HNSW_NAMESPACES = 8
# PostgreSQL cancels statements of a search that take longer; the answer is then 503 `search_timeout`.
MEMOS_SEARCH_TIMEOUT_MS = 2000
# Candidates that the reranker reads.
MEMOS_RERANK_CANDIDATES = 50
# The weight that is added to the score of the best candidate, which is at most about 1 without it; the worst gets 0.
MEMOS_RERANK_WEIGHT = 2.0
# Tokens of a text, with the question for `onnx`, that the reranker reads.
MEMOS_RERANK_MAX_TOKENS = 512
MEMOS_RERANK_THREADS = 2
# Its subfolders are the datasets that `POST /v1/evaluations` may name.
MEMOS_EVALUATION_DIR = str(MEMOS_DATA_DIR / "datasets")
# The limit on new messages of one summary.
MEMOS_SUMMARY_BATCH_MESSAGES = 40
# A summary that is not finished this long after its request is requested again.
MEMOS_SUMMARY_LOCK_SECONDS = 30
# The circuit breaker of a model: consecutive failures that open it, and seconds until one call tries the model again.
MEMOS_LLM_BREAKER_FAILURES = 5
MEMOS_LLM_BREAKER_SECONDS = 30.0
# Seconds that a writer waits for the model's verdict.
MEMOS_LLM_GATE_SECONDS = 5.0
# Pairs that the model judges in one run; a run begins every minute.
MEMOS_LLM_SETTLING_PER_RUN = 20
# Seconds without data after which a forwarded completion is ended.
MEMOS_LLM_RELAY_IDLE_SECONDS = 900.0
# Seconds until a failed job, or one whose worker died, is tried again, which must exceed the time limit of jobs.
MEMOS_JOB_RETRY_SECONDS = MEMOS_JOB_TIMEOUT_SECONDS * 3 // 2
# Times that a failing job is tried.
MEMOS_JOB_ATTEMPTS = 5
# Days for which finished and discarded jobs stay listed; failed ones stay until they are replayed or discarded.
MEMOS_JOBS_KEEP_DAYS = 7
# Seconds that a delivery may take, including the answer.
MEMOS_WEBHOOK_SECONDS = 10.0
# A scheduled backup that takes longer is stopped.
MEMOS_BACKUP_TIMEOUT_SECONDS = 21_600
# The folder of trained adapters; servers that load them must see it under the same path.
MEMOS_ADAPTERS_DIR = str(MEMOS_DATA_DIR / "adapters")
# Days for which the files of training exports, model calls, and the request statistics by minute are kept.
MEMOS_TRAINING_KEEP_DAYS = 30
MEMOS_MODEL_CALLS_DAYS = 90
MEMOS_REQUEST_FIGURES_DAYS = 30

# Environment variables that no setting reads, with the most similar setting.
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
    # Last, because it replaces the answer to the login form by the page of a lock-out.
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
        # JSON instead of pickle, so that write access to Redis does not allow running code here.
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

# django-q2's clusters, each with separate processes. The default one takes short jobs and runs the schedules.
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
    # A worker claims its job when it takes a message, so there is no use in queueing more messages.
    "queue_limit": 1,
    "bulk": 1,
    "poll": 0.5,
    "guard_cycle": 1,
    "catch_up": False,
    # The results are recorded in the table of jobs.
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
    # The names of enumerations that would otherwise get invented names, because their fields have common names.
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
