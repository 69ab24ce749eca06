"""What the pages of policies show: the namespaces, one namespace's values as a form, its versions, a preview."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import PolicyOrigin
from memory.errors import InvalidInput
from memory.models import Memory
from memory.policy_values import BY_KEY, KNOBS, SETTING, Knob, Value
from memory.services.retention.policy_history import SweepResult, VersionOfPolicy
from memory.services.tenancy.policy import Governing
from memory.text.translatable import translate
from memory.types import Scope
from ops.pages.rows import Staff, row_link
from ops.words import Words

EXAMPLES = 20
FIELD = "value:"
LABELS: dict[str, Words] = {
    "gate.strict": gettext_lazy("Strict gate"),
    "timezone": gettext_lazy("Time zone"),
    "gate.worth_threshold": gettext_lazy("Worth threshold"),
    "gate.personal_data": gettext_lazy("Personal data"),
    "gate.secrets": gettext_lazy("Secrets"),
    "gate.injection": gettext_lazy("Injected orders"),
    "conflicts.settle": gettext_lazy("Settle conflicts"),
    "retrieval.relevance_floor": gettext_lazy("Floor of relevance"),
    "duplicates.collapse": gettext_lazy("Fold duplicates"),
    "decay.enabled": gettext_lazy("Memories decay"),
    "decay.floor": gettext_lazy("Floor of strength"),
    "decay.half_life_days.said": gettext_lazy("Half-life of what people said"),
    "decay.half_life_days.answered": gettext_lazy("Half-life of answers"),
    "decay.half_life_days.episode": gettext_lazy("Half-life of small talk"),
    "decay.half_life_days.document": gettext_lazy("Half-life of documents"),
    "decay.half_life_days.fact": gettext_lazy("Half-life of facts"),
    "decay.half_life_days.preference": gettext_lazy("Half-life of preferences"),
    "preferences": gettext_lazy("Preferences from turns"),
    "extract": gettext_lazy("Facts from turns"),
    "training.consent": gettext_lazy("Consent to training"),
    "ttl_days": gettext_lazy("Time to live"),
    "retention.packs_days": gettext_lazy("Context packs are kept"),
    "retention.evaluation_days": gettext_lazy("Evaluations are kept"),
    "retention.quarantine_days": gettext_lazy("Quarantined text is kept"),
    "legal_hold": gettext_lazy("Legal hold"),
    "summary.messages": gettext_lazy("Summary after messages"),
    "summary.tokens": gettext_lazy("Summary after tokens"),
    "summary.idle_seconds": gettext_lazy("Summary after silence"),
    "working_memory.hours": gettext_lazy("Working memory lasts"),
    "models.answer": gettext_lazy("Model that answers"),
    "models.summarise": gettext_lazy("Model of summaries"),
    "models.extract": gettext_lazy("Model that reads names"),
    "models.judge": gettext_lazy("Model that judges"),
    "quota.memories": gettext_lazy("Most memories"),
    "quota.writes_per_day": gettext_lazy("Most memories a day"),
    "budget.period": gettext_lazy("A budget lasts"),
    "budget.soft_usd": gettext_lazy("Warn from this cost"),
    "budget.hard_usd": gettext_lazy("Highest cost"),
    "budget.soft_tokens": gettext_lazy("Warn from so many tokens"),
    "budget.hard_tokens": gettext_lazy("Most tokens"),
}
CHOICES: dict[str, Words] = {
    "off": gettext_lazy("Left as it is"),
    "redact": gettext_lazy("Blacked out"),
    "quarantine": gettext_lazy("Put in quarantine"),
    "reject": gettext_lazy("Refused"),
    "accept": gettext_lazy("Taken in"),
    "day": gettext_lazy("A day"),
    "month": gettext_lazy("A month"),
    "browse": gettext_lazy("Kept, to browse and filter by"),
    "rank": gettext_lazy("Kept, and part of searches"),
    "facts": gettext_lazy("Read by a language model"),
    "rules": gettext_lazy("Read by rules"),
    "model": gettext_lazy("Read by rules and a language model"),
}
GROUPS: tuple[tuple[Words, tuple[str, ...]], ...] = (
    (gettext_lazy("When a day begins"), ("timezone",)),
    (gettext_lazy("What is let in"), ("gate.",)),
    (gettext_lazy("What contradicts or repeats"), ("conflicts.", "duplicates.")),
    (gettext_lazy("What counts as an answer"), ("retrieval.",)),
    (gettext_lazy("What is forgotten"), ("decay.", "ttl_days", "legal_hold")),
    (gettext_lazy("What is kept how long"), ("retention.", "working_memory.")),
    (gettext_lazy("When summaries are made"), ("summary.",)),
    (gettext_lazy("Which language models serve"), ("models.",)),
    (gettext_lazy("What is read in turns"), ("extract", "preferences")),
    (gettext_lazy("What models may learn"), ("training.",)),
    (gettext_lazy("How much there may be"), ("quota.",)),
    (gettext_lazy("What models may cost"), ("budget.",)),
)
ORIGINS: dict[str, tuple[str, Words]] = {
    PolicyOrigin.DEFAULT: ("off", gettext_lazy("Default")),
    PolicyOrigin.ENVIRONMENT: ("busy", gettext_lazy("Environment")),
    PolicyOrigin.NAMESPACE: ("good", gettext_lazy("Namespace")),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One value: in force, where it is from, and what the form has typed (empty: the namespace sets none itself).

    `setting` names the environment's setting where the value comes from it.
    """

    key: str
    name: str
    label: Words
    help: str
    range: str
    unit: str
    setting: str
    value: str
    inherited: str
    tone: str
    origin: Words
    typed: str
    choices: list[tuple[str, Words]]
    problem: str


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: Words
    fields: list[Field]
    open: bool


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    label: Words
    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PolicyVersionRow:
    """One version and what it changed; `current` is in force."""

    number: int
    differences: list[PolicyDifference]
    reason: str
    actor: str
    at: datetime
    current: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A memory that would be archived."""

    memory_id: str
    text: str
    reason: str
    strength: float | None
    link: str


@dataclass(frozen=True, slots=True)
class PreviewCount:
    """One number of the preview: under the policy typed, and as things are."""

    title: Words
    would: int
    now: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What saving would do. `share` is of the active memories."""

    differences: list[PolicyDifference]
    counts: list[PreviewCount]
    archived: int
    active: int
    share: float
    examples: list[Example]


def read_overrides(values: QueryDict) -> dict[str, Any]:
    """The overrides that a form has typed, by key; what is no number stays as it is typed, for the check to name."""
    wanted: dict[str, Any] = {}
    for knob in KNOBS:
        text = values.get(FIELD + knob.key, "").strip()
        if text:
            wanted[knob.key] = _read(knob, text)
    return wanted


def format_overrides(overrides: Mapping[str, Value]) -> dict[str, str]:
    """Overrides as the form shows them."""
    return {key: _format_for_form(value) for key, value in overrides.items()}


def groups(
    governing: Governing,
    inherited: Mapping[str, Value],
    texts: Mapping[str, str],
    problems: Mapping[str, str],
) -> list[FieldGroup]:
    """Every value as a field, in groups; `texts` is what the form has typed, by key."""
    found = []
    for title, prefixes in GROUPS:
        fields = [
            _field(knob, governing, inherited[knob.key], texts.get(knob.key, ""), problems.get(knob.key, ""))
            for knob in KNOBS
            if knob.key.startswith(prefixes)
        ]
        found.append(FieldGroup(title, fields, any(field.typed or field.problem for field in fields)))
    return found


def problems_of(error: InvalidInput) -> tuple[dict[str, str], str]:
    """What is wrong, by the key of its field, and what is wrong with the reason."""
    found: dict[str, str] = {}
    reason = ""
    for entry in error.detail if isinstance(error.detail, list) else []:
        if entry["field"] == "reason":
            reason = translate(entry["problem"])
        else:
            found[entry["field"].removeprefix("policy.")] = translate(entry["problem"])
    return found, reason


def refusal(error: InvalidInput) -> str:
    """Why a policy cannot be saved, in one line: the first value that is wrong, and how many more are."""
    problems, reason = problems_of(error)
    if not problems:
        return reason or error.message
    key, problem = next(iter(problems.items()))
    first, more = f"{LABELS.get(key, key)} {problem}", len(problems) - 1
    if not more:
        return first
    return first + " " + ngettext("(and %(count)s more)", "(and %(count)s more)", more) % {"count": more}


def history(versions: list[VersionOfPolicy], *, current: int) -> list[PolicyVersionRow]:
    """The versions with what each of them changed."""
    return [
        PolicyVersionRow(
            one.number,
            [
                PolicyDifference(LABELS.get(key, key), key, _put_in_words(before), _put_in_words(after))
                for key, (before, after) in one.changed.items()
            ],
            one.reason,
            one.actor,
            one.at,
            one.number == current,
        )
        for one in versions
    ]


def build_preview(scope: Scope, found: Mapping[str, Any], governing: Governing, *, user: Staff) -> Preview:
    """The preview of `services.preview` for people: differences, numbers, and some of the memories."""
    after = _flat(found["policy"])
    now, would = found["without_change"], found["would"]
    titles = (
        ("archive", _("Memories archived")),
        ("packs", _("Context packs deleted")),
        ("evaluations", _("Evaluations deleted")),
        ("quarantined", _("Quarantined texts deleted")),
    )
    before = governing.effective.values
    named = found["memories"][:EXAMPLES]
    texts = _texts(scope, [one["memory_id"] for one in named])
    active = found["active_memories"]
    return Preview(
        differences=[
            PolicyDifference(LABELS[key], key, _put_in_words(before[key]), _put_in_words(after[key]))
            for key in BY_KEY
            if before[key] != after[key]
        ],
        counts=[PreviewCount(title, would[name], now[name]) for name, title in titles],
        archived=would["archive"],
        active=active,
        share=would["archive"] / active if active else 0.0,
        examples=[
            Example(
                one["memory_id"],
                texts.get(one["memory_id"], ""),
                translate(one["reason"]),
                one["strength"].get("value"),
                row_link(user, "memory", one["memory_id"]),
            )
            for one in named
        ],
    )


def sweep_words(result: SweepResult) -> tuple[str, Words]:
    """How the last sweep went: tone and word."""
    if result.doubted_at is not None:
        return "bad", _("Stands still: the clock is in doubt")
    if result.started_at is None:
        return "off", _("Has not run yet")
    states = {
        "done": ("good", _("Done")),
        "running": ("busy", _("Running")),
        "queued": ("busy", _("Waits to be tried again")),
    }
    return states.get(str(result.state), ("bad", _("Failed")))


def _field(knob: Knob, governing: Governing, inherited: Value, text: str, problem: str) -> Field:
    tone, origin = ORIGINS[governing.effective.origins[knob.key]]
    choices: list[tuple[str, Words]] = []
    if isinstance(knob.default, bool):
        choices = [("true", _("Yes")), ("false", _("No"))]
    elif knob.choices:
        choices = [(choice, CHOICES[choice]) for choice in knob.choices]
    return Field(
        key=knob.key,
        name=FIELD + knob.key,
        label=LABELS[knob.key],
        help=translate(knob.help),
        range=_range(knob),
        unit=translate(knob.unit),
        setting=SETTING if governing.effective.origins[knob.key] == PolicyOrigin.ENVIRONMENT else "",
        value=_put_in_words(governing.effective.values[knob.key]),
        inherited=_put_in_words(inherited),
        tone=tone,
        origin=origin,
        typed=text,
        choices=choices,
        problem=problem,
    )


def _range(knob: Knob) -> str:
    """What a value may be, with its unit."""
    range_, unit = translate(knob.range), translate(knob.unit)
    return _("%(range)s %(unit)s") % {"range": range_, "unit": unit} if unit else range_


def _read(knob: Knob, text: str) -> Any:
    if isinstance(knob.default, bool):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(knob.default, str):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _put_in_words(value: Value | None) -> str:
    """A value for people to read."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    return str(CHOICES[value]) if value in CHOICES else _format_for_form(value)


def _format_for_form(value: Value) -> str:
    """A value as the form sends it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _flat(found: Mapping[str, Any], place: str = "") -> dict[str, Value]:
    flat: dict[str, Value] = {}
    for name, value in found.items():
        key = f"{place}{name}"
        flat |= _flat(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return flat


def _texts(scope: Scope, ids: list[str]) -> dict[str, str]:
    rows = Memory.objects.in_scope(scope).filter(pk__in=[uuid.UUID(one) for one in ids])
    return {str(identity): text for identity, text in rows.values_list("pk", "text")}
