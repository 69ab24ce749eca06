"""What is answered to a question, and what it rests on."""

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
    """`text` as it stands in the memory `memory_id`, which `speaker` ("" when not known) said at `occurred_at`.

    `n`: the number behind it in the answer, where it stands at `at` (in characters; None where it is not written).
    `marked`: the answer puts it in quotation marks. `supported`: whether it says what the answer cites it for.
    `place`: where in its document a chunk stands; empty for what is no chunk.
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
    """What is answered, of `tokens` tokens, and what it quotes; `no_answer` says why there is none.

    `pack_id`: the context pack that holds all that was found; None where there is no namespace. `hits`: how many came
    back. `degraded` names what did not work fully. `uncited`: sentences without a citation, which only a model writes.
    `model`: the one that wrote it, as `provider/name`; "" for quotes. `structured`: what it answered to a schema.
    `usage` and `ttft_ms` (milliseconds to its first token) are those of its call, `cost` (dollars) None where no price
    is known. `prefix_sha256`, `prefix_tokens` and `breakpoints` are of the pack's text
    (`RenderedPack.describe_prefix`). `whose`: where several namespaces answer, whose each memory is, by its id.
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
        """What `from_json` makes the same answer of."""
        written: dict[str, Any] = orjson.loads(orjson.dumps(self))
        return written

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> CitedAnswer:
        """The answer that `to_json` has written."""
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
