"""The groups of routes that the API's documentation has, in the order in which readers need them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RouteGroup:
    """`paths`: the first part of its routes' paths (behind `/v1`). A route elsewhere names its group itself, as `tags`
    of `extend_schema`; a group that is not listed here comes last."""

    name: str
    says: str
    paths: tuple[str, ...] = ()


OPENAI = RouteGroup("OpenAI", "Chat completions as OpenAI's API has them, with a memory: for programs that speak it")
GROUPS = (
    RouteGroup("Ingest", "Tell MemOS what was said and done", ("ingest",)),
    RouteGroup("Ask", "Bring memories back, or have a question answered from them", (
        "query", "search", "answer", "chat", "why",
    )),
    OPENAI,
    RouteGroup("Documents", "Long texts, kept as chunks that are memories", ("documents",)),
    RouteGroup("Memories", "Look at memories one by one, correct them, say what became of them", ("memories",)),
    RouteGroup("Sessions", "Empty a session, or fill it with demo data", ("sessions", "dev")),
    RouteGroup("Entities", "Who and what memories speak of, and what is said between them", ("entities", "graph")),
    RouteGroup("Quarantine", "What the gate kept apart", ("quarantine",)),
    RouteGroup("Policy", "What governs a namespace", ("policy",)),
    RouteGroup("Erasures", "Forget for good, with a receipt", ("erasures",)),
    RouteGroup("Evaluations", "Measure retrieval by judgements", ("evaluations", "judgements")),
    RouteGroup("Operations", "What MemOS holds, does and costs", ("ops", "usage", "health")),
    RouteGroup("Three-tier protocol", "For clients that speak the protocol of groups, hot and cold", ("api",)),
)  # fmt: skip
GROUP_OF = {path: group.name for group in GROUPS for path in group.paths}
