"""The prefix of a namespace as it is now, and how a prompt begins that has it."""

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

# Tokens of what is told in a completion where MEMOS_PACK_MAX_TOKENS sets no limit: the rest of a model's context is the
# caller's.
COMPLETION_TOKENS = 4_000
# Tokens of what was found that a model which answers is given.
ANSWER_SOURCE_TOKENS = 4_000
# Stands behind the prefix while a template makes a prompt of it. The last one counts: a memory may say it, too.
_END = "[end of the prefix]"


@dataclass(frozen=True, slots=True)
class CurrentPrefix:
    """`text` is that of the packs, `sha256` names it. `tokens`: as the server's tokenizer counts them."""

    text: str
    sha256: str
    tokens: int
    memory_ids: tuple[uuid.UUID, ...]


def count_pack_tokens(form: PromptForm) -> int:
    """How many tokens a pack has at most that is told in this form; the prefix depends on it."""
    if form == PromptForm.ANSWER:
        return ANSWER_SOURCE_TOKENS
    return int(settings.MEMOS_PACK_MAX_TOKENS or COMPLETION_TOKENS)


def render_prefix(scope: Scope, form: PromptForm, *, now: datetime) -> CurrentPrefix:
    """What a question of the namespace is told now before all that depends on it; the text is empty without any."""
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
    """The messages of a prompt of this form; of what the template makes of them `cut_prompt` keeps the beginning."""
    if form == PromptForm.ANSWER:
        return [_message("system", ANSWER_INSTRUCTIONS), _message("user", prefix + _END)]
    return [_message("system", KEPT_IN_MIND + prefix + _END), _message("user", "?")]


def cut_prompt(prompt: str) -> str:
    """The prompt up to the end of the prefix; "" where the template left it out."""
    return prompt.rpartition(_END)[0]


def _message(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}
