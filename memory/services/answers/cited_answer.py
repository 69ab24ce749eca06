"""Defines the answer to a question, with the quotes that it rests on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from memory.enums import AnswerMode, NoAnswer
from memory.providers.calls import TokenUsage


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote: `text` as it stands in the memory `memory_id`, which `speaker` ('' if unknown) said at `occurred_at`.

    `n`: its number in the answer; `at`: the position of that number in characters, None if the answer does not contain
    it. `marked`: the answer puts it in quotation marks. `supported`: it says what the answer cites it for. `place`: the
    position of a chunk in its document; '' for other memories.
    """

    n: int
    memory_id: uuid.UUID
    text: str
    speaker: str
    occurred_at: datetime
    marked: bool
    at: int | None = None
    supported: bool = True
    place: str = ""


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer of `tokens` tokens with its quotes; `no_answer`: the reason if there is none.

    `pack_id`: the context pack that holds everything found; None without a namespace. `hits`: the number of hits.
    `degraded` names components that did not work fully. `uncited`: sentences without a citation, which only a model
    writes. `model`: its writer as `provider/name`; '' for quotes. `structured`: the model's object for a schema.
    `usage` and `ttft_ms` (milliseconds to its first token) are those of its call; `cost` (dollars) is None if no price
    is known. `prefix_sha256`, `prefix_tokens` and `breakpoints` are those of the pack's text
    (`RenderedPack.describe_prefix`). `whose`: the owner of each memory by its id, if several namespaces answer.
    """

    text: str
    tokens: int
    quotes: Sequence[Quote]
    no_answer: NoAnswer | None
    mode: AnswerMode
    pack_id: uuid.UUID | None
    hits: int
    degraded: Sequence[str]
    uncited: Sequence[str] = ()
    model: str = ""
    structured: dict[str, Any] | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)
    ttft_ms: int | None = None
    cost: float | None = None
    prefix_sha256: str = ""
    prefix_tokens: int = 0
    breakpoints: Sequence[Mapping[str, Any]] = ()
    whose: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON, from which `from_json` restores it."""
        written: dict[str, Any] = orjson.loads(orjson.dumps(self))
        return written

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> CitedAnswer:
        """Restore the answer that `to_json` wrote."""
        quotes = [
            Quote(
                **{
                    **quote,
                    "memory_id": uuid.UUID(quote["memory_id"]),
                    "occurred_at": datetime.fromisoformat(quote["occurred_at"]),
                }
            )
            for quote in kept["quotes"]
        ]
        return cls(
            **{
                **kept,
                "quotes": quotes,
                "no_answer": NoAnswer(kept["no_answer"]) if kept["no_answer"] else None,
                "mode": AnswerMode(kept["mode"]),
                "pack_id": uuid.UUID(kept["pack_id"]) if kept["pack_id"] else None,
                "usage": TokenUsage(**kept["usage"]),
            }
        )
