"""What the admin calls models, fields and their values, marked for translation.

Models say it in English and know nothing of languages. What is listed here is collected into the catalogue;
`translate_models` has Django look it up when it shows it. Migrations and permissions keep the English.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.models import Field
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.utils.translation import gettext_noop as _

from ops.words import Words

APPS = ("memory", "ops", "django_q")

APP_NAMES = (
    _("Background jobs"),
    _("Memory"),
    _("Operations console"),
)

NAMES = (
    _("API key"),
    _("API keys"),
    _("activated at"),
    _("actor"),
    _("all namespaces"),
    _("at"),
    _("attempts"),
    _("audit log"),
    _("audit logs"),
    _("budget hard tokens"),
    _("budget hard usd"),
    _("budget period"),
    _("budget soft tokens"),
    _("budget soft usd"),
    _("bulk action"),
    _("bulk actions"),
    _("bulk change"),
    _("bulk changes"),
    _("cached tokens"),
    _("changed"),
    _("characters"),
    _("completion tokens"),
    _("condensation"),
    _("condensations"),
    _("confidence"),
    _("content digest"),
    _("context pack"),
    _("context packs"),
    _("cost"),
    _("covers to turn"),
    _("created at"),
    _("created by"),
    _("cube"),
    _("cubes"),
    _("dataset"),
    _("description"),
    _("dimensions"),
    _("disabled why"),
    _("display name"),
    _("done"),
    _("duration ms"),
    _("embedding model"),
    _("embedding models"),
    _("enabled"),
    _("error"),
    _("error type"),
    _("estimated"),
    _("evaluation run"),
    _("evaluation runs"),
    _("event type"),
    _("expires at"),
    _("failing since"),
    _("failures"),
    _("finished at"),
    _("former until"),
    _("heartbeat at"),
    _("importance"),
    _("includes text"),
    _("is default"),
    _("job"),
    _("jobs"),
    _("key"),
    _("kind"),
    _("label"),
    _("last used at"),
    _("length"),
    _("matched"),
    _("memories"),
    _("memory"),
    _("metadata"),
    _("method"),
    _("model"),
    _("model call"),
    _("model calls"),
    _("name"),
    _("namespace"),
    _("namespace id"),
    _("namespaces"),
    _("next at"),
    _("note"),
    _("notes"),
    _("number"),
    _("occurred at"),
    _("owner id"),
    _("paused until"),
    _("pinned"),
    _("prefix"),
    _("price date"),
    _("price source"),
    _("procedure"),
    _("procedures"),
    _("prompt tokens"),
    _("provider"),
    _("purpose"),
    _("quarantined item"),
    _("quarantined items"),
    _("query text"),
    _("querystring"),
    _("queued at"),
    _("reader"),
    _("reason"),
    _("refused"),
    _("relevance judgement"),
    _("relevance judgements"),
    _("relevant"),
    _("request id"),
    _("requests per minute"),
    _("retrieved count"),
    _("review"),
    _("reviewed at"),
    _("reviewer"),
    _("revision"),
    _("revoked at"),
    _("role"),
    _("rule"),
    _("saved view"),
    _("saved views"),
    _("schedule"),
    _("scopes"),
    _("session"),
    _("session summary id"),
    _("shared"),
    _("speaker"),
    _("staff grant"),
    _("staff grants"),
    _("started at"),
    _("state"),
    _("status"),
    _("subject"),
    _("text"),
    _("tier"),
    _("token condensed"),
    _("token original"),
    _("tokenizer"),
    _("tokens"),
    _("total"),
    _("trigger reason"),
    _("ttft ms"),
    _("turn"),
    _("unchanged"),
    _("updated at"),
    _("usage day"),
    _("usage days"),
    _("usage reservation"),
    _("usage reservations"),
    _("user"),
    _("users"),
    _("valid from"),
    _("valid to"),
    _("verb"),
    _("version"),
    _("webhook deliveries"),
    _("webhook delivery"),
    _("webhooks"),
)

HELP = (
    _("0: the job is of no namespace"),
    _("1 for the session's first summary, then counting up"),
    _("A function of memory.tasks"),
    _("Beginning of the last attempt"),
    _("Empty: the server's own limit (MEMOS_RATE_LIMIT_PER_MINUTE)"),
    _("First line of the last error"),
    _("How sure the gate is of its verdict, 0 to 1"),
    _("Name of the dataset's folder"),
    _("No sweep takes it away"),
    _("Of `total`, as far as the task knows"),
    _("Of a run by the clock: its name"),
    _("SHA-256 of the dataset's files, or of the judgements"),
    _("The list's model, for example memory.memory"),
    _("What was left out or cut, in words"),
    _("What wrote the card: extractive, or the language model's name"),
    _("When it was marked last"),
    _("Why it was discarded"),
    _("0: for no namespace, or for several at once"),
    _("Empty: the worker or a member of staff"),
    _("Milliseconds"),
    _("Milliseconds to the first token of a stream"),
    _("Of the prompt"),
    _("Or the job's id"),
    _("Since when that price holds, where it is said"),
    _("The provider did not count the tokens"),
    _("Tokens beyond which no model is called"),
    _("Tokens from which answers warn"),
    _("US dollars beyond which no model is called"),
    _("US dollars from which answers warn"),
    _("US dollars; empty: no price is known"),
    _("What calls of models for this key may cost in it (UTC); 0: no limit"),
    _("When it began"),
    _("Attempts in a row that failed"),
    _("Empty: by a person, or enabled"),
    _("Since it was made, or replayed"),
    _("The key on whose behalf texts are sent"),
    _("Until then the former secret signs as well"),
    _("When it is tried; empty: not any more"),
    _("Raised by every change"),
    _("Unique in the namespace"),
)

VALUES = (
    pgettext_lazy("value", "Active"),
    pgettext_lazy("value", "Agent"),
    pgettext_lazy("value", "Archived"),
    pgettext_lazy("value", "Bootstrap"),
    pgettext_lazy("value", "Building"),
    pgettext_lazy("value", "Cancelled"),
    pgettext_lazy("value", "Contradiction"),
    pgettext_lazy("value", "Discarded"),
    pgettext_lazy("value", "Done"),
    pgettext_lazy("value", "Failed"),
    pgettext_lazy("value", "Finished"),
    pgettext_lazy("value", "Idle"),
    pgettext_lazy("value", "L1 Scratchpad"),
    pgettext_lazy("value", "L2 Semantic"),
    pgettext_lazy("value", "L3 Entities"),
    pgettext_lazy("value", "New Messages"),
    pgettext_lazy("value", "New Tokens"),
    pgettext_lazy("value", "Ok"),
    pgettext_lazy("value", "Outdated"),
    pgettext_lazy("value", "Suspected"),
    pgettext_lazy("value", "Prompt"),
    pgettext_lazy("value", "Queued"),
    pgettext_lazy("value", "Retired"),
    pgettext_lazy("value", "Running"),
    pgettext_lazy("value", "Stale"),
    pgettext_lazy("value", "System"),
    pgettext_lazy("value", "Tool"),
    pgettext_lazy("value", "User"),
    pgettext_lazy("value", "Wrong"),
    pgettext_lazy("value", "a calendar month"),
    pgettext_lazy("value", "a day"),
    pgettext_lazy("value", "it is a memory now"),
    pgettext_lazy("value", "its text was deleted"),
    pgettext_lazy("value", "waits for a decision"),
    pgettext_lazy("value", "Archive"),
    pgettext_lazy("value", "Delivered"),
    pgettext_lazy("value", "Edit"),
    pgettext_lazy("value", "Restore"),
    pgettext_lazy("value", "Waiting"),
)

KINDS_OF_MEMORIES = (
    pgettext_lazy("value", "what a person said"),
    pgettext_lazy("value", "what an agent, a system or a tool said"),
    pgettext_lazy("value", "talk that says little"),
    pgettext_lazy("value", "a chunk of a document"),
    pgettext_lazy("value", "what a model read in turns"),
)


def translate_models() -> None:
    """To be called before forms are made of the models."""
    for label in APPS:
        config = apps.get_app_config(label)
        config.verbose_name = gettext_lazy(str(config.verbose_name))
        if label == "django_q":
            # It has a catalogue of its own.
            continue
        for model in config.get_models():
            options = model._meta
            # Django's own plural is put together when it is shown.
            options.verbose_name_plural = gettext_lazy(str(options.verbose_name_plural))
            options.verbose_name = _later(options.verbose_name)
            for field in (*options.fields, *options.many_to_many):
                _translate(field)


def _translate(field: Field) -> None:
    field.verbose_name = _later(field.verbose_name)
    field.help_text = _later(field.help_text) if field.help_text else ""
    if field.choices:
        field.choices = [(value, value_word(title)) for value, title in field.flatchoices]


def value_word(title: Words) -> Words:
    """A value's title, which may be said otherwise than the same word elsewhere."""
    return title if isinstance(title, Promise) else pgettext_lazy("value", title)


def _later(words: Any) -> Any:
    return words if isinstance(words, Promise) else gettext_lazy(words)
