"""Renders the present prefix of a namespace, and the beginning of a prompt with it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.conf import settings

from memory.enums import PackSection, PromptForm
from memory.retrieval.durable import list_durable
from memory.retrieval.procedural import list_procedural
from memory.retrieval.render import WindowMessages, render_pack
from memory.text.answer_instructions import ANSWER_INSTRUCTIONS
from memory.text.completion_messages import KEPT_IN_MIND
from memory.text.tokens import count_tokens
from memory.types import Scope

# The most tokens of recalled memory in a completion if MEMOS_PACK_MAX_TOKENS sets no limit: the rest of the model's
# context is the caller's.
COMPLETION_TOKENS = 4_000
# The most tokens of memories that an answering model is given.
ANSWER_SOURCE_TOKENS = 4_000
# Marks the end of the prefix while a template makes a prompt of it. The last mark counts, because a memory may contain
# one too.
_END = "[end of the prefix]"


@dataclass(frozen=True, slots=True)
class CurrentPrefix:
    """The prefix: `text` as in packs, and `sha256` that identifies it. `tokens`: by the server's tokenizer."""

    text: str
    sha256: str
    tokens: int
    memory_ids: tuple[uuid.UUID, ...]


def count_pack_tokens(form: PromptForm) -> int:
    """Return the most tokens of a pack in this form; the prefix depends on it."""
    if form == PromptForm.ANSWER:
        return ANSWER_SOURCE_TOKENS
    return int(settings.MEMOS_PACK_MAX_TOKENS or COMPLETION_TOKENS)


def render_prefix(scope: Scope, form: PromptForm, *, now: datetime) -> CurrentPrefix:
    """Render the part of the namespace's packs that does not depend on the question; its text may be empty."""
    durable = list_durable(scope, holding_at=now)
    rendered = render_pack(
        procedural=list_procedural(scope),
        card=None,
        window=WindowMessages(),
        hits=[],
        max_tokens=count_pack_tokens(form),
        tokenizer=settings.MEMOS_TOKENIZER,
        count=partial(count_tokens, tokenizer=settings.MEMOS_TOKENIZER),
        durable=durable,
    )
    (listed,) = [one for one in rendered.manifest["sections"] if one["section"] == PackSection.DURABLE.value]
    told = [uuid.UUID(entry["id"]) for entry in listed["items"] if entry["status"] != "cut"]
    return CurrentPrefix(rendered.prefix, rendered.prefix_sha256, rendered.prefix_tokens, tuple(told))


def begin_messages(form: PromptForm, prefix: str) -> list[Mapping[str, str]]:
    """Return the messages of a prompt of this form, from whose rendering `cut_prompt` keeps the beginning."""
    if form == PromptForm.ANSWER:
        return [_message("system", ANSWER_INSTRUCTIONS), _message("user", prefix + _END)]
    return [_message("system", KEPT_IN_MIND + prefix + _END), _message("user", "?")]


def cut_prompt(prompt: str) -> str:
    """Return the prompt up to the end of the prefix; "" if the template left it out."""
    return prompt.rpartition(_END)[0]


def _message(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}
