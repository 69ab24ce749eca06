"""Builds Activation: the caches of prefixes, their states, and their benefit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import ActivationState, DropReason, PromptForm
from memory.models import ActivationCache
from ops.words import Words

FORMS: tuple[tuple[str, Words], ...] = (
    (PromptForm.ANSWER.value, gettext_lazy("Answers and chat")),
    (PromptForm.COMPLETION.value, gettext_lazy("Chat completions (gateway)")),
)
_BADGES: Mapping[str, tuple[str, Words]] = {
    ActivationState.BUILDING: ("busy", gettext_lazy("Being built")),
    ActivationState.READY: ("good", gettext_lazy("Ready")),
    ActivationState.STALE: ("off", gettext_lazy("Stale")),
}
_REASONS: Mapping[str, Words] = {
    DropReason.MEMORY: gettext_lazy("one of its memories changed"),
    DropReason.ERASED: gettext_lazy("one of its memories was erased"),
    DropReason.PREFIX: gettext_lazy("the prefix has changed"),
    DropReason.ASKED: gettext_lazy("dropped"),
    DropReason.BUDGET: gettext_lazy("it made room for others"),
    DropReason.LOST: gettext_lazy("its file is gone or was replaced"),
    DropReason.INTERRUPTED: gettext_lazy("building it was interrupted"),
}


@dataclass(frozen=True, slots=True)
class ActivationShown:
    """A cache. `reason` says why it is stale, or is ""."""

    id: uuid.UUID
    namespace: str
    model: str
    form: Words
    tone: str
    word: Words
    reason: Words
    tokens: int
    bytes: int
    memories: int
    uses: int
    used_at: datetime | None
    created_at: datetime
    is_building: bool


def activation_shown(row: ActivationCache, *, namespace: str) -> ActivationShown:
    """Return a cache as the page shows it."""
    tone, word = _BADGES[row.state]
    return ActivationShown(
        id=row.pk,
        namespace=namespace,
        model=row.model,
        form=dict(FORMS)[row.form],
        tone=tone,
        word=word,
        reason=_REASONS.get(row.reason, ""),
        tokens=row.tokens,
        bytes=row.bytes,
        memories=len(row.memory_ids),
        uses=row.uses,
        used_at=row.used_at,
        created_at=row.created_at,
        is_building=row.state == ActivationState.BUILDING,
    )


def list_figures(found: Mapping[str, Any]) -> Sequence[tuple[Words, str]]:
    """Return the benefit of caches, line by line. It is empty while no call used one."""
    if not found["calls"]:
        return ()
    times = found["ttft_ms"]
    return (
        (_("Calls with a cache"), number_format(found["calls"], use_l10n=True, force_grouping=True)),
        (_("Of them the model had the prefix"), f"{found['hit_rate']:.0%}"),
        (_("Tokens not computed again"), number_format(found["cached_tokens"], use_l10n=True, force_grouping=True)),
        (_("Time to the first token, with it (median)"), _milliseconds(times["hit"])),
        (_("Time to the first token, without (median)"), _milliseconds(times["without"])),
    )


def _milliseconds(value: int | None) -> str:
    return "–" if value is None else f"{value} ms"
