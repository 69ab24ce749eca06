"""Enumerations that rows, requests and answers share."""

from django.db.models import IntegerChoices, TextChoices

# The retrievers by meaning and by words, whose candidates are merged.
ARMS = ("dense", "lexical")


class Role(TextChoices):
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"


class Tier(TextChoices):
    """The store of something: a session's window, the memories or the entities."""

    L1 = "L1", "L1 Scratchpad"
    L2 = "L2", "L2 Semantic"
    L3 = "L3", "L3 Entities"

    @property
    def wire_label(self) -> str:
        """The name in answers of `/v1/query`, which is older than this server, and which clients compare."""
        return {
            Tier.L1: "L1 Scratchpad (Redis)",
            Tier.L2: "L2 Semantic (Vector DB)",
            Tier.L3: "L3 Entity Graph (Neo4j)",
        }[self]


class MemoryPlace(TextChoices):
    """The place in a caller's messages of what MemOS adds.

    `apart` uses separate system messages. `system` puts what no question changes into the first system message, and the
    rest into the user's last one. `user` puts everything into the user's last message.
    """

    APART = "apart"
    SYSTEM = "system"
    USER = "user"


class MemoryState(TextChoices):
    """The state of a memory; only `active` memories are retrieved."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class Feedback(TextChoices):
    """A person's opinion of a memory; only the latest one of each person counts."""

    USEFUL = "useful"
    WRONG = "wrong"
    OUTDATED = "outdated"


class Review(TextChoices):
    """The reason why a memory waits for a review, empty if it doesn't."""

    WRONG = "wrong"
    OUTDATED = "outdated"
    CONTRADICTION = "contradiction"
    SUSPECTED = "suspected"


class LinkKind(TextChoices):
    """The kind of a link from one memory to another.

    The first memory supersedes, restates or contradicts the second, is a fact that was read in it, or is a reply that
    quotes it. Or a person decided that both hold, and they are left alone.
    """

    SUPERSEDES = "supersedes"
    RESTATES = "restates"
    CONTRADICTS = "contradicts"
    BOTH_HOLD = "both_hold"
    DERIVED_FROM = "derived_from"


class PairVerdict(TextChoices):
    """The outcome of asking a language model about a pair of statements, empty while the pair waits."""

    REPLACES = "replaces", "the newer one takes the place of the older"
    BOTH_HOLD = "both_hold", "both hold"
    REFUSED = "refused", "the answer did not stand the check"
    UNANSWERED = "unanswered", "the model did not answer, however often it was asked"


class MemoryKind(TextChoices):
    """The kind of a memory; each kind decays with a different half-life."""

    SAID = "said", "what a person said"
    ANSWERED = "answered", "what an agent, a system or a tool said"
    EPISODE = "episode", "talk that says little"
    DOCUMENT = "document", "a chunk of a document"
    FACT = "fact", "what a model read in turns"
    PREFERENCE = "preference", "what somebody likes, avoids or usually does"


class Attitude(TextChoices):
    """The holder's attitude to the object of a preference."""

    LIKE = "like"
    DISLIKE = "dislike"
    CONSTRAINT = "constraint"
    HABIT = "habit"


class PreferenceSource(TextChoices):
    """The source of a preference: its holder states it, or repeatedly makes the same choice."""

    STATEMENT = "statement"
    CHOICES = "choices"


class PreferenceReading(TextChoices):
    """The reader of preferences in the turns of a namespace."""

    OFF = "off"
    RULES = "rules"
    MODEL = "model"


class Extraction(TextChoices):
    """The kind of statements that a model reads in turns, in addition to the rules."""

    OFF = "off"
    FACTS = "facts"


class FactRefusal(TextChoices):
    """The reason why something that a model read in turns isn't stored."""

    MALFORMED = "malformed", "a field is empty, too long or holds what no sentence holds"
    NO_NEW_SOURCE = "no_new_source", "it names no new turn, or one that there is not"
    INVENTED = "invented", "a number, name or date is in none of the turns that it names"
    UNSUPPORTED = "unsupported", "no statement of the turns that it names says it"
    HOLDER = "holder", "the statement is about somebody or something else"
    QUESTION = "question", "the turns only ask it"
    SUPPOSED = "supposed", "the turns suppose, wish, quote or joke"
    PLANNED = "planned", "the turns plan what it says is so"
    NEGATION = "negation", "the turns deny it, or it denies what they say"
    PAST = "past", "the turns say that it was so"
    TOO_FEW = "too_few", "the choices were made on too few occasions to show a preference"
    CONTRARY = "contrary", "it denies what rules read, or a constraint"
    GATE = "gate", "the gate would not let it in as it is"
    QUOTA = "quota", "the namespace may hold no more memories"


class PolicyOrigin(TextChoices):
    """The source of a policy's value."""

    DEFAULT = "default"
    ENVIRONMENT = "environment"
    NAMESPACE = "namespace"


class QuarantineState(TextChoices):
    """The state of a quarantined text."""

    PENDING = "pending", "waits for a decision"
    RELEASED = "released", "it is a memory now"
    DISCARDED = "discarded", "its text was deleted"


class SweepRule(TextChoices):
    """The reason why the sweep archives a memory."""

    DECAYED = "decayed", "its strength fell below the floor"
    EXPIRED = "expired", "its time to live is over"


class AccessScope(TextChoices):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class CubeKind(TextChoices):
    """An optional kind of memory in a cube, which always has texts."""

    TEXTUAL = "textual", "texts that are searched"
    ACTIVATION = "activation", "what a language model has computed of a prompt that stays the same"
    PARAMETRIC = "parametric", "adapters of a language model, trained on memories"


class ShareLevel(TextChoices):
    """The permission that sharing a cube grants; write includes read."""

    READ = "read"
    WRITE = "write"


class EmbeddingState(TextChoices):
    """The state of a model's vectors; new ones are `building` until they are complete and replace the `active` ones."""

    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"


class AuditEvent(TextChoices):
    INGEST = "INGEST"
    QUERY = "QUERY"
    CONTEXT_PACK = "CONTEXT_PACK"
    CONDENSATION = "CONDENSATION"
    FACTS_EXTRACT = "FACTS_EXTRACT"
    PREFERENCES_READ = "PREFERENCES_READ"
    SESSION_RESET = "SESSION_RESET"
    DEV_SEED = "DEV_SEED"
    DOCUMENT_INGEST = "DOCUMENT_INGEST"
    DOCUMENT_DELETE = "DOCUMENT_DELETE"
    DOCUMENT_FILE_START = "DOCUMENT_FILE_START"
    DOCUMENT_FILE_FINISH = "DOCUMENT_FILE_FINISH"
    MEMORY_ARCHIVE = "MEMORY_ARCHIVE"
    MEMORY_RESTORE = "MEMORY_RESTORE"
    MEMORY_EDIT = "MEMORY_EDIT"
    MEMORY_SUPERSEDE = "MEMORY_SUPERSEDE"
    MEMORY_REINSTATE = "MEMORY_REINSTATE"
    MEMORY_RETIRE = "MEMORY_RETIRE"
    MEMORY_CONTRADICTION = "MEMORY_CONTRADICTION"
    MEMORY_PIN = "MEMORY_PIN"
    MEMORY_UNPIN = "MEMORY_UNPIN"
    MEMORY_FEEDBACK = "MEMORY_FEEDBACK"
    KEY_ISSUE = "KEY_ISSUE"
    KEY_REVOKE = "KEY_REVOKE"
    REEMBED = "REEMBED"
    MEMORY_JUDGE = "MEMORY_JUDGE"
    MEMORY_REEMBED = "MEMORY_REEMBED"
    MEMORY_VIEW = "MEMORY_VIEW"
    MEMORY_EXPORT = "MEMORY_EXPORT"
    ENTITY_MERGE = "ENTITY_MERGE"
    ENTITY_SPLIT = "ENTITY_SPLIT"
    ENTITY_REBUILD = "ENTITY_REBUILD"
    TREE_REBUILD = "TREE_REBUILD"
    ACTIVATION_BUILD = "ACTIVATION_BUILD"
    ACTIVATION_DROP = "ACTIVATION_DROP"
    ACTIVATION_EXPORT = "ACTIVATION_EXPORT"
    IMPORT_START = "IMPORT_START"
    IMPORT_FINISH = "IMPORT_FINISH"
    TRAINING_EXPORT = "TRAINING_EXPORT"
    TRAINING_READ = "TRAINING_READ"
    TRAINING_DROP = "TRAINING_DROP"
    ADAPTER_TRAIN = "ADAPTER_TRAIN"
    ADAPTER_JUDGE = "ADAPTER_JUDGE"
    ADAPTER_ACTIVATE = "ADAPTER_ACTIVATE"
    ADAPTER_RETIRE = "ADAPTER_RETIRE"
    ADAPTER_STALE = "ADAPTER_STALE"
    CUBE_DUMP = "CUBE_DUMP"
    CUBE_DOWNLOAD = "CUBE_DOWNLOAD"
    CUBE_LOAD = "CUBE_LOAD"
    CUBE_LOAD_FINISH = "CUBE_LOAD_FINISH"
    CUBE_EVENT = "CUBE_EVENT"
    EVALUATION_START = "EVALUATION_START"
    EVALUATION_FINISH = "EVALUATION_FINISH"
    ERASURE_REQUEST = "ERASURE_REQUEST"
    ERASURE_FINISH = "ERASURE_FINISH"
    POLICY_CHANGE = "POLICY_CHANGE"
    POLICY_EXEMPTION = "POLICY_EXEMPTION"
    RETENTION_DELETE = "RETENTION_DELETE"
    INGEST_REJECT = "INGEST_REJECT"
    QUARANTINE = "QUARANTINE"
    QUARANTINE_RELEASE = "QUARANTINE_RELEASE"
    QUARANTINE_DISCARD = "QUARANTINE_DISCARD"
    SWEEP_PAUSE = "SWEEP_PAUSE"
    SWEEP_RESUME = "SWEEP_RESUME"
    JOB_REPLAY = "JOB_REPLAY"
    JOB_DISCARD = "JOB_DISCARD"
    SESSION_VIEW = "SESSION_VIEW"
    AUDIT_EXPORT = "AUDIT_EXPORT"
    CONSOLE_PROBE = "CONSOLE_PROBE"
    CONSOLE_READ = "CONSOLE_READ"
    LOGIN_LOCK = "LOGIN_LOCK"
    LOGIN_END = "LOGIN_END"
    SECOND_FACTOR_SET = "SECOND_FACTOR_SET"
    SECOND_FACTOR_REMOVE = "SECOND_FACTOR_REMOVE"
    BACKUP = "BACKUP"
    RESTORE = "RESTORE"
    JOB_FAIL = "JOB_FAIL"
    BUDGET_REACH = "BUDGET_REACH"
    WEBHOOK_CREATE = "WEBHOOK_CREATE"
    WEBHOOK_CHANGE = "WEBHOOK_CHANGE"
    WEBHOOK_DELETE = "WEBHOOK_DELETE"
    WEBHOOK_DISABLE = "WEBHOOK_DISABLE"
    USER_CREATE = "USER_CREATE"
    USER_CHANGE = "USER_CHANGE"
    USER_ERASE = "USER_ERASE"
    CUBE_CREATE = "CUBE_CREATE"
    CUBE_CHANGE = "CUBE_CHANGE"
    CUBE_UNREGISTER = "CUBE_UNREGISTER"
    CUBE_SHARE = "CUBE_SHARE"
    CUBE_REVOKE = "CUBE_REVOKE"
    KEY_OWNER = "KEY_OWNER"
    PROJECT_CHANGE = "PROJECT_CHANGE"


class EventType(TextChoices):
    """An event that webhooks and the change feed report; each is derived from audit events."""

    MEMORY_ADDED = "memory.added", "a turn was remembered, or facts were read in turns"
    MEMORY_CHANGED = "memory.changed", "its text, metadata or standing is another"
    MEMORY_SUPERSEDED = "memory.superseded", "it, or a part of it, holds no longer"
    MEMORY_REINSTATED = "memory.reinstated", "it, or a part of it, holds again"
    MEMORY_ARCHIVED = "memory.archived", "it was taken out of retrieval"
    MEMORY_RESTORED = "memory.restored", "it was brought back into retrieval"
    MEMORY_ERASED = "memory.erased", "memories were removed for good"
    MEMORY_QUARANTINED = "memory.quarantined", "the gate keeps a text apart"
    MEMORY_CONFLICT = "memory.conflict", "two memories cannot both hold"
    DOCUMENT_ADDED = "document.added", "a document was taken in, or a new version of it"
    DOCUMENT_DELETED = "document.deleted", "a document and its chunks were removed"
    SESSION_RESET = "session.reset", "all of a session was removed"
    SUMMARY_MADE = "summary.made", "a session has a new summary"
    JOB_FAILED = "job.failed", "background work was given up"
    BUDGET_REACHED = "budget.reached", "calls of models have reached a limit"


# The event type of a test delivery, which can't be subscribed to.
TEST_EVENT = "webhook.test"


class DeliveryState(TextChoices):
    """The state of a delivery, which waits until an attempt succeeds or the last one fails."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Verdict(TextChoices):
    """The outcome for a memory in one question. A candidate is a memory that got a score."""

    RETURNED = "returned", "it is among the hits"
    RESTATED = "restated", "a better candidate says the same"
    VARIETY = "variety", "a list is wanted, and it is too like a hit"
    IRRELEVANT = "irrelevant", "its relevance is below what the question asks for"
    OUTRANKED = "outranked", "the hits have higher scores"
    NOT_A_CANDIDATE = "not_a_candidate", "no arm has it among its best"
    FILTERED = "filtered", "the filter leaves it out"
    RECORDED_LATER = "recorded_later", "it was recorded after `as_of`"
    NOT_HOLDING = "not_holding", "it does not hold at the time that is asked about"
    ARCHIVED = "archived", "it takes no part in retrieval"


class GateDecision(TextChoices):
    """The gate's decision on a turn before it is stored. Quarantined turns aren't searched."""

    ACCEPT = "accept", "stored as it is"
    ACCEPT_REDACTED = "accept_redacted", "stored with marks in place of what must not be kept"
    QUARANTINE = "quarantine", "kept apart until a person or a policy releases or discards it"
    REJECT = "reject", "not stored"

    @property
    def lets_in(self) -> bool:
        """True if the turn becomes a memory."""
        return self in (GateDecision.ACCEPT, GateDecision.ACCEPT_REDACTED)


class GateAction(TextChoices):
    """A policy's action on a turn in which the gate finds something of a kind."""

    OFF = "off", "not looked for"
    ACCEPT = "accept", "noted and let through"
    REDACT = "redact", "replaced by a mark"
    QUARANTINE = "quarantine"
    REJECT = "reject"


class PersonalDataKind(TextChoices):
    EMAIL = "email", "e-mail address"
    PHONE = "phone", "phone number"
    CARD = "card", "bank card number"
    IBAN = "iban", "bank account number"
    IDENTITY = "identity", "identity number"


class EvaluationStatus(TextChoices):
    """The state of a run, which is `queued` until a worker takes it; a failed one has the reason in `error`."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class ErasureTarget(TextChoices):
    """The target of an erasure."""

    MEMORIES = "memories"
    SESSION = "session"
    SPEAKER = "speaker"
    NAMESPACE = "namespace"


class ErasureStatus(TextChoices):
    """The state of an erasure.

    A `waiting` one has deleted all that it could, and tries the rest again; a failed one has the reason in `error`.
    """

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"


class ImportFormat(TextChoices):
    """The program that an imported file comes from."""

    CHATGPT = "chatgpt", "ChatGPT"
    CLAUDE = "claude", "Claude"
    GEMINI = "gemini", "Gemini"
    MEM0 = "mem0", "mem0"
    HINDSIGHT = "hindsight", "hindsight"
    PAM = "pam", "Portable AI Memory 1.0"
    PASTED = "pasted", "lines of `date - memory`"


class ImportState(TextChoices):
    """The state of an import; `preview` means that no import was requested.

    A failed one, or its job, has the reason in `problem`.
    """

    PREVIEW = "preview"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"
    DISCARDED = "discarded"


class TrainingFile(TextChoices):
    """A file of a training data set, as TRL reads it; `evaluation` asks again in other words."""

    SFT = "sft"
    PREFERENCE = "preference"
    EVALUATION = "evaluation"


class TrainingOrigin(TextChoices):
    """The material of a line of a training data set."""

    DIALOGUE = "dialogue", "a question and an answer that was marked as useful"
    MEMORY = "memory", "a pinned or important memory, a fact, or one that was marked as useful"
    SUPERSESSION = "supersession", "a memory and the one that holds in its place"
    CORRECTION = "correction", "what a memory says, and what it said before it was corrected"


class TrainingState(TextChoices):
    """The state of a training data set: a memory in a `stale` one has changed, and a `dropped` one has no files."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STALE = "stale"
    DROPPED = "dropped"
    FAILED = "failed"
    DISCARDED = "discarded"


class CubeSignature(TextChoices):
    """The signer of a cube's file: this server, another whose key it knows or shares, an unknown key, or none.

    A file whose signature doesn't verify is refused.
    """

    OWN = "own"
    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    NONE = "none"


class CubeFileKind(TextChoices):
    """An operation on a cube's file."""

    DUMP = "dump"
    LOAD = "load"


class CubeFileState(TextChoices):
    """The state of a cube's file; a failed one, or its job, has the reason in `problem`."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"
    DISCARDED = "discarded"


class AdapterState(TextChoices):
    """The state of an adapter.

    A `candidate` passed the evaluation, a `refused` one didn't, and a `stale` one has learnt what no longer holds.
    """

    TRAINING = "training"
    CANDIDATE = "candidate"
    ACTIVE = "active"
    REFUSED = "refused"
    STALE = "stale"
    RETIRED = "retired"


class CubeIds(TextChoices):
    """The ids of a loaded cube's rows: the file's, new ones, or whichever fits the file's origin."""

    AUTO = "auto"
    KEEP = "keep"
    NEW = "new"


class BulkChangeVerb(TextChoices):
    """A change that can be made to many memories at once."""

    ARCHIVE = "archive"
    EDIT = "edit"
    RESTORE = "restore"


class BulkOutcome(TextChoices):
    """The outcome for one memory; an `unchanged` one was so already, or is gone."""

    WAITING = "waiting"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


class BulkChangeState(TextChoices):
    """The state of a bulk change; `dry_run` means that no change was requested."""

    DRY_RUN = "dry_run"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DISCARDED = "discarded"


class ErasedSessionState(TextChoices):
    """The state of an erased session; `rebuild` means that a summary was deleted and turns are left for a new one."""

    OPEN = "open"
    REBUILD = "rebuild"
    DONE = "done"


class JobState(TextChoices):
    """The state of a job, which is `queued` before and between attempts; a failed one waits for a person."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DISCARDED = "discarded"


class JobPriority(IntegerChoices):
    """The worker processes that take a job: for erasures (interactive), short jobs (normal) or long ones (bulk)."""

    INTERACTIVE = 0, "interactive"
    NORMAL = 1, "normal"
    BULK = 2, "bulk"


class ActivationEngine(TextChoices):
    """The program that computes the keys and values of a prefix, and writes their file."""

    LLAMACPP = "llamacpp", "a slot of llama.cpp's server"
    TRANSFORMERS = "transformers", "transformers, in the worker"


class ActivationState(TextChoices):
    """The state of an activation cache: `building` until its file is complete, `stale` once it is to be deleted."""

    BUILDING = "building"
    READY = "ready"
    STALE = "stale"


class DropReason(TextChoices):
    """The reason why an activation cache is deleted."""

    MEMORY = "memory", "a memory that it holds was changed, superseded or deleted"
    ERASED = "erased", "a memory that it holds was erased"
    PREFIX = "prefix", "the namespace's prefix is another"
    ASKED = "asked", "somebody dropped it, or turned activation memory off"
    BUDGET = "budget", "others were used since, and the folder was full"
    LOST = "lost", "its file is missing or another"
    INTERRUPTED = "interrupted", "its build broke off"


class PromptForm(TextChoices):
    """The position of a prefix in a prompt; a cache for one form can't serve the other."""

    ANSWER = "answer", "what /v1/answer and /v1/chat send"
    COMPLETION = "completion", "what /v1/chat/completions sends"


class DocumentFormat(TextChoices):
    """The markup of a document's text, which decides where the text may be cut."""

    TEXT = "text"
    MARKDOWN = "markdown"


class FileType(TextChoices):
    """The type of a file by its content; the optional parsers read the first five."""

    PDF = "pdf", "PDF"
    DOCX = "docx", "Word"
    PPTX = "pptx", "PowerPoint"
    XLSX = "xlsx", "Excel"
    IMAGE = "image", "image"
    HTML = "html", "HTML"
    MARKDOWN = "markdown", "Markdown"
    EML = "eml", "e-mail"
    CSV = "csv", "CSV"
    JSON = "json", "JSON"
    TEXT = "text", "text"


class FileRefusal(TextChoices):
    """The reason why a file didn't become a document, empty if it did or isn't finished yet."""

    EMPTY = "empty", "it holds nothing"
    UNSUPPORTED = "unsupported", "it is of no kind that is read"
    MISLABELLED = "mislabelled", "its name says that it is something else"
    ENCODING = "encoding", "its text is in an encoding that is not read"
    ENCRYPTED = "encrypted", "it has a password"
    DAMAGED = "damaged", "it is cut off, or otherwise not what its kind should be"
    BOMB = "bomb", "it would grow beyond every limit when it is read"
    UNSAFE_XML = "unsafe_xml", "it declares XML entities"
    TOO_LARGE = "too_large", "it has more pages, text or levels than are read"
    NO_TEXT = "no_text", "there is no text in it"
    MEMORY = "memory", "reading it takes too much memory"
    CPU_TIME = "cpu_time", "reading it takes too much CPU time"
    WALL_TIME = "wall_time", "reading it takes too long"
    CRASHED = "crashed", "its parser broke down"
    PARSER_MISSING = "parser_missing", "the worker lacks the parser for it"
    OCR_MISSING = "ocr_missing", "images are read where OCR is set up"
    GATE = "gate", "the gate rejects it, or keeps it in the quarantine"
    OUTDATED = "outdated", "a newer version of the document came before it was read"
    ERASED = "erased", "an erasure has taken it, or a part of the document, away"
    REFUSED = "refused", "the document cannot be stored: `problem` says why"


class FileState(TextChoices):
    """The state of a file; a `refused` one has the reason in `problem`."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    DISCARDED = "discarded"


class EntityKind(TextChoices):
    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    PROJECT = "project"
    THING = "thing"


class Predicate(TextChoices):
    """The relation of one entity to another, as stated in a memory: subject, predicate, object."""

    WORKS_AT = "works_at"
    STUDIES_AT = "studies_at"
    LIVES_IN = "lives_in"
    COMES_FROM = "comes_from"
    MEMBER_OF = "member_of"
    WORKS_ON = "works_on"
    FAMILY = "family"
    FRIEND_OF = "friend_of"
    COLLEAGUE_OF = "colleague_of"
    OWNS = "owns"
    PART_OF = "part_of"
    LIKES = "likes"


class AliasLink(TextChoices):
    """The reason why a name stands for its entity."""

    OWN = "own", "the entity was made for it"
    RULE = "rule", "it is the first or last name of one full name only"
    STATED = "stated", "a memory says so"
    APART = "apart", "memories say different things of it: it stays apart"
    STAFF = "staff", "a person merged or split it"


class SummaryTrigger(TextChoices):
    """The reason why a session's summary was made.

    There was none, the last one lacked enough turns or quoted something that no longer holds, or it was requested.
    """

    BOOTSTRAP = "bootstrap_summary"
    NEW_MESSAGES = "new_messages_threshold"
    NEW_TOKENS = "new_tokens_threshold"
    IDLE = "idle_session"
    STALE = "stale_source"


class ProcedureKind(TextChoices):
    PROMPT = "prompt"
    TOOL = "tool"


class PackSection(TextChoices):
    """A section of a context, ordered by how little it changes between two questions."""

    PROCEDURAL = "procedural"
    DURABLE = "durable"
    SUMMARY = "summary"
    WINDOW = "window"
    HITS = "hits"


class AnswerMode(TextChoices):
    """The way to make an answer: `extractive` ones only quote, `model` ones are written from numbered memories."""

    EXTRACTIVE = "extractive"
    MODEL = "model"


class ModelKind(TextChoices):
    """The task of a model that is called over the network."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    RERANK = "rerank"


class ModelPurpose(TextChoices):
    """The purpose of a model call; each may use a separate chat model."""

    ANSWER = "answer"
    SUMMARISE = "summarise"
    EXTRACT = "extract"
    JUDGE = "judge"
    EMBED = "embed"
    RERANK = "rerank"


# Purposes of chat models, each with a value `models.PURPOSE` of the policy.
CHAT_PURPOSES = (ModelPurpose.ANSWER, ModelPurpose.SUMMARISE, ModelPurpose.EXTRACT, ModelPurpose.JUDGE)


class ModelCallStatus(TextChoices):
    """The outcome of a model call; a cancelled one lost its reader."""

    OK = "ok"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BudgetPeriod(TextChoices):
    """The length of a budget's period, which starts at midnight (UTC)."""

    DAY = "day", "a day"
    MONTH = "month", "a calendar month"


class UsageGroup(TextChoices):
    """The key by which the figures of model calls are summed."""

    DAY = "day"
    KEY = "key"
    NAMESPACE = "namespace"
    PURPOSE = "purpose"
    MODEL = "model"


class AnswerCriterion(TextChoices):
    """The criterion for an answer in an evaluation.

    It must say the same as the expected one, give the time up to a difference of one, give the newest value, follow the
    preference, choose the option, or say that it isn't known.
    """

    ANSWER = "answer"
    TIME = "time"
    UPDATE = "update"
    PREFERENCE = "preference"
    CHOICE = "choice"
    ABSTAIN = "abstain"


class NoAnswer(TextChoices):
    """The reason why a question isn't answered.

    No memory was found, none is relevant enough, no part of them fits, or the model that read them says so.
    """

    NOTHING_FOUND = "nothing_found"
    BELOW_FLOOR = "below_relevance_floor"
    NOTHING_QUOTABLE = "nothing_quotable"
    NOT_IN_SOURCES = "not_in_sources"


class CutReason(TextChoices):
    """The reason why an item of a pack isn't in the context."""

    OVER_BUDGET = "over_budget", "there was no room for it under max_tokens"
    IN_WINDOW = "in_window", "the window shows it"
    IN_PREFIX = "in_prefix", "the beginning of the text tells it, which the line points to"
    KNOWN = "known", "the request has it already"
    WINDOW_STEP = "window_step", "the summary covers it, and the window starts at a steady place"


class ErrorCode(TextChoices):
    """The `code` values of the API's errors with their meanings."""

    INVALID_REQUEST = "invalid_request", "the request is wrong: `detail` says where"
    NOT_AUTHENTICATED = "not_authenticated", "no key, or one that is not valid"
    FORBIDDEN = "forbidden", "the key lacks the scope"
    NOT_FOUND = "not_found", "no such thing within the key's reach"
    MODEL_NOT_FOUND = "model_not_found", "no language model of that name is configured"
    PREVIOUS_RESPONSE_NOT_FOUND = "previous_response_not_found", "the response to go on from is not kept"
    MODEL_NOT_CONFIGURED = "model_not_configured", "no language model is configured"
    METHOD_NOT_ALLOWED = "method_not_allowed", "the route does not know the method"
    REQUEST_TIMEOUT = "request_timeout", "the request did not arrive in time"
    CONFLICT = "conflict", "the request contradicts how things stand"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused", "the Idempotency-Key came with another body before"
    LENGTH_REQUIRED = "length_required", "the body has no length, and the web server reads no chunks"
    PRECONDITION_FAILED = "precondition_failed", "it was changed since it was read"
    PAYLOAD_TOO_LARGE = "payload_too_large", "the body, or a file in it, is too large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", "the body is not JSON"
    LLM_CONTEXT_TOO_LONG = "llm_context_too_long", "the prompt has more tokens than the language model takes"
    RATE_LIMITED = "rate_limited", "more requests than the key's limit"
    BUDGET_EXCEEDED = "budget_exceeded", "a call of a model might go beyond a hard budget"
    HEADERS_TOO_LARGE = "headers_too_large", "the request's headers are too large"
    INTERNAL_ERROR = "internal_error", "the server failed: its log has the cause under the request_id"
    LLM_ERROR = "llm_error", "the language model's provider answered with an error"
    OVERLOADED = "overloaded", "too many large requests at once"
    DATABASE_UNAVAILABLE = "database_unavailable", "PostgreSQL does not answer"
    DEADLINE_EXCEEDED = "deadline_exceeded", "the request took longer than MEMOS_REQUEST_SECONDS"
    SEARCH_TIMEOUT = "search_timeout", "a search took longer than it may"
    EMBEDDING_UNAVAILABLE = "embedding_unavailable", "the embedding model does not answer"
    RERANK_UNAVAILABLE = "rerank_unavailable", "the reranker does not answer"
    LLM_UNAVAILABLE = "llm_unavailable", "the language model does not answer"
    LLM_BUSY = "llm_busy", "the language model is called as often at once as it may be"
    TOO_MANY_STREAMS = "too_many_streams", "the key has as many streams open as it may"
    SESSION_WINDOW_UNAVAILABLE = "session_window_unavailable", "Redis does not answer"
    PARSER_UNAVAILABLE = "parser_unavailable", "the server lacks the parser, or the OCR, that the file needs"
    ADAPTER_SERVER_UNAVAILABLE = "adapter_server_unavailable", "a server that adapters are loaded into does not answer"
    ISSUER_UNAVAILABLE = "issuer_unavailable", "the issuer of OAuth tokens does not say what its keys are"
    ERASURE_LEDGER_UNAVAILABLE = "erasure_ledger_unavailable", "the erasure ledger cannot be written"


class Degradation(TextChoices):
    """The values of an answer's `degraded`, each for a part of the service that was missing."""

    EMBEDDING_DELAYED = "embedding_delayed", "found by words until the worker has embedded it"
    SESSION_WINDOW_UNAVAILABLE = "session_window_unavailable", "Redis does not answer: no session window"
    RERANK_UNAVAILABLE = "rerank_unavailable", "ranked without the reranker"
    LANGUAGE_UNREAD = "language_unread", "found by words: the embedding model does not read the question's language"
    NAMESPACE_UNKNOWN = "namespace_unknown", "there is no such namespace, and none was made"
    GATE_MODEL_UNAVAILABLE = "gate_model_unavailable", "the gate decided without its language model"
    ANSWER_BY_WORDS_ONLY = "answer_by_words_only", "quotes were chosen by words, not by meaning"
    ANSWER_CUT_OFF = "answer_cut_off", "the answer is longer than `max_tokens`"
    LLM_UNAVAILABLE = "llm_unavailable", "quotes instead: the language model does not answer"
    LLM_BUSY = "llm_busy", "quotes instead: the language model is called as often at once as it may be"
    LLM_CONTEXT_TOO_LONG = "llm_context_too_long", "quotes instead: the prompt is too long for the language model"
    BUDGET_EXCEEDED = "budget_exceeded", "without a model's call that a hard budget does not allow"
    BUDGET_SOFT_LIMIT = "budget_soft_limit", "a soft budget is reached"
    TURN_TOO_LONG = "turn_too_long", "a turn is too long for one memory"
    TURN_NOT_REMEMBERED = "turn_not_remembered", "a turn could not be stored"
