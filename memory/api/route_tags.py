"""The tags that the routes of the API stand under in its documentation, in the order in which readers need them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RouteTag:
    """`paths`: the first part of its routes' paths (behind `/v1`). A route elsewhere names its tag itself, as `tags`
    of `extend_schema`; a tag that is not listed here comes last. `maker`: whose API it is; its routes stand in a
    document of their own, `/openapi/{maker}.json`, and not in ours."""

    name: str
    says: str
    paths: tuple[str, ...] = ()
    maker: str = ""


OPENAI = RouteTag(
    "OpenAI", "Chat completions, responses and embeddings as OpenAI's API has them, with a memory", maker="openai"
)
ANTHROPIC = RouteTag(
    "Anthropic", "Messages as Anthropic's API has them, with a memory: for Claude Code and its like", maker="anthropic"
)
HINDSIGHT = RouteTag(
    "Hindsight", "The core routes of hindsight's API, for programs that use its clients", maker="hindsight"
)
MEM0 = RouteTag("mem0", "mem0's API, hosted and open source, for programs that use its clients", maker="mem0")
MEMTENSOR = RouteTag("MemTensor", "MemTensor's MemOS API, for programs that speak it", maker="memtensor")
ROUTE_TAGS = (
    RouteTag("Ingest", "Tell MemOS what was said and done", ("ingest",)),
    RouteTag("Ask", "Bring memories back, or have a question answered from them", (
        "query", "search", "retrieval", "answer", "chat", "why",
    )),
    OPENAI,
    ANTHROPIC,
    RouteTag("Documents", "Long texts, kept as chunks that are memories", ("documents", "document-files")),
    RouteTag("Memories", "Look at memories one by one, correct them, say what became of them", ("memories",)),
    RouteTag("Imports", "Take in what other programs exported", ("imports", "uploads")),
    RouteTag("Training", "Data sets and adapters: memory inside a model", ("exports", "adapters")),
    RouteTag("Sessions", "Empty a session, or fill it with demo data", ("sessions", "dev")),
    RouteTag("Entities", "Who and what memories speak of, and what is said between them", ("entities", "graph")),
    RouteTag("Tree", "Sessions and their topics", ("tree",)),
    RouteTag("Users", "The people whose memories are kept", ("users",)),
    RouteTag("Cubes", "A namespace's memories as a thing that is owned and shared", ("cubes",)),
    RouteTag("Quarantine", "What the gate kept apart", ("quarantine",)),
    RouteTag("Policy", "What governs a namespace", ("policy",)),
    RouteTag("Erasures", "Forget for good, with a receipt", ("erasures",)),
    RouteTag("Evaluations", "Measure retrieval by judgements", ("evaluations", "judgements")),
    RouteTag("Events", "What happens, told to others: webhooks, and a feed to ask", ("webhooks", "changes")),
    RouteTag("Operations", "What MemOS holds, does and costs", ("ops", "usage", "health")),
    MEM0,
    HINDSIGHT,
    MEMTENSOR,
    RouteTag("Three-tier protocol", "For clients that speak the protocol of groups, hot and cold", ("api",)),
)  # fmt: skip
TAG_OF = {path: tag.name for tag in ROUTE_TAGS for path in tag.paths}
MAKER_OF = {tag.name: tag.maker for tag in ROUTE_TAGS}
# In the order of the tags: whose APIs are spoken here, ours first.
MAKERS = tuple(dict.fromkeys(["", *(tag.maker for tag in ROUTE_TAGS)]))
