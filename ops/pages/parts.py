"""Builds cards for the parts of the server: tiers, models, workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import EmbeddingState
from memory.models import EmbeddingModel
from memory.services.monitoring.health import OK
from memory.services.monitoring.status import TierState, Worker, language_models, model_answers

SLOW_MILLISECONDS = 100.0
# A cluster writes a heartbeat every half second, and Redis keeps it for three seconds.
SILENT = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class Card:
    """A part of the server. `tone` and `word` are its state: works, slow, down, off (not set up), unknown.

    `answered` is when a model last answered a request or a job successfully.
    """

    title: str
    tone: str
    word: str
    detail: str
    figure: str = ""
    answered: datetime | None = None


def tier_cards(found: Sequence[TierState]) -> list[Card]:
    """Return a card for each of the three tiers, by its answer a moment ago."""
    words = {
        "L1": (_("L1 · Scratchpad"), _("Redis: the newest messages of each session"), _("%(count)s keys")),
        "L2": (_("L2 · Semantic"), _("PostgreSQL: memories, words and vectors"), _("%(count)s memories")),
        "L3": (_("L3 · Entities"), _("PostgreSQL: names and how they are related"), _("%(count)s entities")),
    }
    cards = []
    for tier in found:
        title, detail, unit = words[tier.name]
        if tier.milliseconds is None:
            cards.append(Card(title, "bad", _("Down"), detail))
            continue
        slow = tier.milliseconds > SLOW_MILLISECONDS
        took = _("answered in %(time)s ms") % {"time": _coarse(tier.milliseconds)}
        size = unit % {"count": f"{tier.size:,}"}
        cards.append(
            Card(title, "weak" if slow else "good", _("Slow") if slow else _("Works"), detail, f"{size} · {took}")
        )
    return cards


def _coarse(milliseconds: float) -> str:
    """Round a time, so that the noise of a measurement does not look like a change."""
    if milliseconds < 5:
        return "< 5"
    return f"{round(milliseconds, -1):.0f}" if milliseconds >= 10 else "< 10"


def model_cards(embedding: str) -> list[Card]:
    """Return cards for the models: the embedding model with its state in `health`, and the other configured ones."""
    last = model_answers()
    active = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    name = f"{active.name} · {active.dimensions}" if active else ""
    called = last.embedding
    if active is None:
        first = Card(_("Embedding"), "off", _("Not set up"), _("There is none yet: run manage.py bootstrap"))
    elif embedding == OK:
        first = Card(_("Embedding"), "good", _("Works"), _("makes the vectors of search by meaning"), name, called)
    else:
        first = Card(_("Embedding"), "bad", _("Down"), _("queries are refused until it is back"), name, called)
    reranks = settings.MEMOS_RERANK_PROVIDER != "off"
    models = language_models()
    rerank_name = settings.MEMOS_RERANK_MODEL or settings.MEMOS_RERANK_PROVIDER
    return [
        first,
        Card(
            _("Reranker"),
            "info",
            _("Set up"),
            _("reads the question with the best candidates"),
            rerank_name,
            last.reranker,
        )
        if reranks
        else Card(_("Reranker"), "off", _("Not set up"), _("optional: MEMOS_RERANK_PROVIDER")),
        Card(
            _("Language model"),
            "info",
            _("Set up"),
            _("writes summaries"),
            ", ".join(models),
            last.language,
        )
        if models
        else Card(_("Language model"), "off", _("Not set up"), _("optional: summaries are extracted by rules")),
    ]


def worker_cards(found: Sequence[Worker] | None, *, now: datetime) -> list[Card]:
    """Return a card for the workers of each host, or one that says that there are none or that they are unknown."""
    if found is None:
        return [Card(_("Workers"), "off", _("Unknown"), _("heartbeats are kept in Redis, which does not answer"))]
    if not found:
        return [Card(_("Workers"), "bad", _("No heartbeat"), _("start one: make run, or manage.py qcluster"))]
    return [
        Card(
            _("Workers on %(host)s") % {"host": worker.host},
            "good" if now - worker.heartbeat_at < SILENT else "weak",
            _("Alive"),
            ngettext("%(count)s process, up %(time)s", "%(count)s processes, up %(time)s", worker.processes)
            % {"count": worker.processes, "time": timesince(worker.since, now, depth=1) if worker.since else "–"},
        )
        for worker in found
    ]
