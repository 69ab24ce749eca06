"""Handles one turn of a chat that a caller sends whole each time: recalls memories for it and remembers it."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.db import DatabaseError

from memory.enums import Degradation, PackSection, PromptForm, Role
from memory.errors import MemosError
from memory.services.activation.prefix import count_pack_tokens
from memory.services.ingestion.ingest import ingest_batch
from memory.services.ingestion.replies import QuotingReply, SourceGone
from memory.services.recall.query import QueryAnswer, query
from memory.services.recall.quoted import list_quoted
from memory.services.recall.search import Ask
from memory.services.tenancy.policy import in_force
from memory.text.completion_messages import Message, find_last_said, text_of
from memory.text.reminders import remove_reminders
from memory.text.thinking import remove_thinking
from memory.text.transcripts import MAX_TEXT_CHARS
from memory.text.verbatim import is_quoted
from memory.types import Idempotency, NewMemory, Scope

log = logging.getLogger("memos.gateway")

TOP_K = 8
# The search reads only the end of a long message, where the question mostly stands.
QUESTION_CHARS = 2_000
# Listed in `degraded` when the turn is too long for one memory and could not be stored.
TOO_LONG = Degradation.TURN_TOO_LONG.value
NOT_REMEMBERED = Degradation.TURN_NOT_REMEMBERED.value


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """The last message of a caller in a session, after all earlier `messages`. `clock` gives the time of the answer.

    `beside`: namespaces that are searched too; the turn is remembered only in `scope`. `is_aside`: a client asks for
    its own purposes, and no person says it.
    """

    scope: Scope
    session: str
    messages: Sequence[Message]
    clock: Callable[[], datetime]
    beside: Sequence[Scope] = ()
    is_aside: bool = False

    @property
    def question(self) -> str:
        """Return the user's last message; "" if it is not a text, or no person says it."""
        place = find_last_said(self.messages)
        if place is None or self.is_aside:
            return ""
        return remove_reminders(text_of(self.messages[place])).replace("\0", "").strip()

    @property
    def speaker(self) -> str:
        """Return the name of the message's author; "" when the message names no one."""
        place = find_last_said(self.messages)
        name = "" if place is None else self.messages[place].get("name")
        return name[:128] if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """The memories that a model was given for a turn.

    `numbers` maps a memory's number in the text, or p1, p2, …, to its id; `memory_ids` also has the unnumbered ones,
    from the window. `pack` and `whose`: as of `QueryAnswer`.
    """

    prefix: str
    recalled: str
    prefix_sha256: str
    pack_id: uuid.UUID | None
    numbers: dict[str, str]
    memory_ids: list[str]
    degraded: list[str]
    pack: Mapping[str, Any] = field(repr=False)
    whose: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def holds_of_others(self, namespace: str) -> bool:
        """Return whether the model was given a memory of another namespace."""
        return any(self.whose[one]["namespace"] != namespace for one in self.memory_ids if one in self.whose)


@dataclass(frozen=True, slots=True)
class RememberedChat:
    """The memories that a turn became: the question and the answer; None if there is none. `gate`: the gate's verdicts
    with reasons, by role."""

    question: uuid.UUID | None = None
    answer: uuid.UUID | None = None
    degraded: tuple[str, ...] = ()
    gate: tuple[dict[str, Any], ...] = ()


def recall(turn: ChatTurn) -> GivenMemory | None:
    """Recall memories for the user's last message; None if it is not a text.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    question = turn.question
    if not question:
        return None
    floor = in_force(turn.scope.namespace_id).policy.relevance_floor
    found = query(
        turn.scope,
        Ask(question[-QUESTION_CHARS:], TOP_K, turn.clock(), min_relevance=floor),
        session=turn.session,
        max_tokens=count_pack_tokens(PromptForm.COMPLETION),
        known={remove_thinking(text_of(message)).strip() for message in turn.messages},
        beside=turn.beside,
    )
    prefix, numbers = found.rendered.prefix, _numbers(found)
    return GivenMemory(
        prefix=prefix,
        recalled=_select_text(found)[len(prefix) :],
        prefix_sha256=found.rendered.prefix_sha256,
        pack_id=found.pack_id,
        numbers=numbers,
        memory_ids=list(dict.fromkeys([*numbers.values(), *_list_shown_ids(found, PackSection.WINDOW)])),
        degraded=found.degraded,
        pack=found.pack,
        whose=found.whose,
    )


def remember(turn: ChatTurn, *, answer: str, given: GivenMemory | None, model: str) -> RememberedChat:
    """Remember the user's message, and the `answer` if there is one; each once, however often they are sent.

    Turns that could not be stored are named in `degraded`: the caller has the answer, and must not lose it for that. An
    answer is linked to the memories that it quotes. An answer for which the model read another namespace is not
    remembered.
    """
    degraded: list[str] = []
    gate: list[dict[str, Any]] = []
    before = find_last_said(turn.messages)
    question = _ingest_once(turn, Role.USER, turn.question, before=before, degraded=degraded, gate=gate)
    told = None
    if turn.question and answer.strip() and given and given.holds_of_others(turn.scope.namespace):
        degraded.append(NOT_REMEMBERED)
    elif turn.question and answer.strip():
        pack_id = str(given.pack_id) if given and given.pack_id else None
        note = {"context_pack_id": pack_id, "memory_ids": given.memory_ids} if given else {}
        metadata = {"answer": {**note, "model": model}}
        quoted = list_quoted(turn.scope, pack=given.pack, reply=answer) if given else []
        if question and is_quoted(turn.question, answer):
            quoted.append(question)
        told = _ingest_once(
            turn,
            Role.AGENT,
            answer.strip(),
            before=None,
            degraded=degraded,
            gate=gate,
            metadata=metadata,
            quoted=quoted,
        )
    return RememberedChat(question, told, tuple(dict.fromkeys(degraded)), tuple(gate))


def _ingest_once(
    turn: ChatTurn,
    role: Role,
    text: str,
    *,
    before: int | None,
    degraded: list[str],
    gate: list[dict[str, Any]],
    metadata: dict[str, Any] | None = None,
    quoted: Sequence[uuid.UUID] = (),
) -> uuid.UUID | None:
    if not text:
        return None
    if len(text) > MAX_TEXT_CHARS:
        degraded.append(TOO_LONG)
        return None
    memory = NewMemory(
        session=turn.session,
        role=role,
        text=text.replace("\0", ""),
        speaker=turn.speaker if role == Role.USER else "",
        metadata=metadata or {},
    )
    # The messages up to the turn identify it: a repeat, or a request that continues behind it, is the same turn.
    told = turn.messages if before is None else turn.messages[: before + 1]
    now = turn.clock()
    reply = QuotingReply(turn.scope, [memory], quoted, now) if quoted else None
    try:
        done = ingest_batch(
            [(turn.scope, memory)],
            now=now,
            idempotency=_key(turn, role, told),
            beside=reply.lock_sources if reply else None,
            after=reply.link if reply else None,
        )
    except (MemosError, DatabaseError, SourceGone) as error:
        log.warning("a turn is not remembered", extra={"role": role, "reason": type(error).__name__})
        degraded.append(NOT_REMEMBERED)
        return None
    degraded += done.degraded
    [outcome] = done.outcomes
    if outcome.reasons:
        gate.append({"role": role.value, "verdict": outcome.verdict.value, "reasons": outcome.reasons})
    return next(iter(done.memory_ids), None)


def _key(turn: ChatTurn, role: Role, told: Sequence[Message]) -> Idempotency:
    # Instructions are left out, because they may hold the time of day.
    spoken = [[one.get("role"), text_of(one)] for one in told if one.get("role") not in ("system", "developer")]
    content = orjson.dumps([turn.scope.namespace, turn.session, role, spoken])
    digest = hashlib.sha256(content).hexdigest()
    return Idempotency(turn.scope.actor, f"chat-turn:{digest}", digest)


def _select_text(found: QueryAnswer) -> str:
    """Return the text, without the hits if none answers: a greeting needs no note that nothing was found."""
    if found.answerable:
        return found.rendered.text
    ends = [end.characters for end in found.rendered.breakpoints if end.section != PackSection.HITS]
    return found.rendered.text[: max(ends, default=0)]


def _list_shown_ids(found: QueryAnswer, section: PackSection) -> list[str]:
    """Return the ids of the memories that a section of the text shows."""
    if section == PackSection.HITS and not found.answerable:
        return []
    (listed,) = [one for one in found.rendered.manifest["sections"] if one["section"] == section.value]
    return [entry["id"] for entry in listed["items"] if entry["status"] != "cut"]


def _numbers(found: QueryAnswer) -> dict[str, str]:
    pinned, hits = _list_shown_ids(found, PackSection.DURABLE), _list_shown_ids(found, PackSection.HITS)
    labels = {f"p{place}": one["memory_id"] for place, one in enumerate(found.pack["durable"], start=1)}
    ranks = {str(hit.rank): str(hit.id) for hit in found.retrieval.hits}
    return {
        **{label: one for label, one in labels.items() if one in pinned},
        **{label: one for label, one in ranks.items() if one in hits},
    }
