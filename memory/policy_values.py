"""The values that govern a namespace, each declared once with its key, unit, range, default and description.

The settings read them from MEMOS_POLICY before Django is set up; `governance/policy.py` uses them for decisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.conf import FLAGS, ConfigurationError
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _
from memory.text.zones import DEFAULT_ZONE, problem_of_zone

Value = bool | int | float | str

# The setting for policy values of all namespaces.
SETTING: Final = "MEMOS_POLICY"
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")

# A provider and a model, whose name may contain slashes.
MODEL_NAME = re.compile(r"[a-z]{1,40}/[^\s/\x00-\x1f][^\s\x00-\x1f]{0,199}")
# Leaving out hits below this loses less than a point of R@10 on every measured data set: docs/relevance.md.
RELEVANCE_FLOOR = 0.04


@dataclass(frozen=True, slots=True)
class Knob:
    """A governed value, with `choices` for words, or `minimum`..`maximum` for numbers.

    A word without choices is the name of a time zone (`is_zone`), or of a model as `provider/model` or "" for that of
    the settings.
    """

    key: str
    default: Value
    help: Sentence
    unit: Sentence
    choices: tuple[str, ...] = ()
    minimum: float = 0.0
    maximum: float = 0.0
    is_zone: bool = False

    @property
    def range(self) -> Sentence:
        """The allowed values in words."""
        if isinstance(self.default, bool):
            return Sentence(_("true or false"))
        if self.choices:
            return Sentence(_("one of %(choices)s"), choices=", ".join(self.choices))
        if self.is_zone:
            return Sentence(_("the IANA name of a time zone, such as Europe/Vienna"))
        if self.is_model:
            return Sentence(_("the name of a model as provider/model, or empty for the server's"))
        ends = {"low": f"{self.minimum:g}", "high": f"{self.maximum:,.15g}"}
        if self.fractional:
            return Sentence(_("a number from %(low)s to %(high)s"), **ends)
        return Sentence(_("a whole number from %(low)s to %(high)s"), **ends)

    @property
    def is_model(self) -> bool:
        """True if it is the name of a model."""
        return isinstance(self.default, str) and not self.choices and not self.is_zone

    @property
    def fractional(self) -> bool:
        return isinstance(self.default, float)

    def problem_of(self, value: object) -> str | None:
        """Return the problem with `value` as the predicate of a sentence, or None."""
        if isinstance(self.default, bool):
            right = isinstance(value, bool)
        elif self.choices:
            right = isinstance(value, str) and value in self.choices
        elif self.is_zone:
            right = problem_of_zone(value) is None
        elif self.is_model:
            right = isinstance(value, str) and (not value or MODEL_NAME.fullmatch(value) is not None)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            right = False
        else:
            right = self.minimum <= value <= self.maximum and (self.fractional or value == int(value))
        if right:
            return None
        if self.unit:
            return Sentence(_("must be %(range)s %(unit)s."), range=self.range, unit=self.unit)
        return Sentence(_("must be %(range)s."), range=self.range)

    def read(self, word: str) -> Value:
        """Parse a `word` of MEMOS_POLICY. Raise ConfigurationError if it isn't allowed."""
        value: Value = word
        if isinstance(self.default, bool):
            value = FLAGS.get(word.lower(), word)
        elif not isinstance(self.default, str) and _NUMBER.fullmatch(word):
            value = float(word) if self.fractional or not word.lstrip("-").isdigit() else int(word)
        if problem := self.problem_of(value):
            raise ConfigurationError(f"{SETTING}: {self.key}={word} {problem}")
        return value


def _knob(key: str, default: Value, help: str, unit: str = "", **options: Any) -> Knob:
    return Knob(key, default, Sentence(help), Sentence(unit), **options)


_DAYS: Final[dict[str, Any]] = {"unit": _("days"), "maximum": 36_500}
_DOLLARS: Final[dict[str, Any]] = {"unit": _("US dollars"), "maximum": 10_000_000}
_TOKENS: Final[dict[str, Any]] = {"unit": _("tokens"), "maximum": 10**15}

KNOBS: tuple[Knob, ...] = (
    _knob(
        "timezone",
        DEFAULT_ZONE,
        _("the time zone in which days begin: for words like yesterday, the dates of answers, and sessions by day."),
        is_zone=True,
    ),
    _knob("gate.strict", False, _("a turn below the worth threshold stays out of long-term memory.")),
    _knob(
        "gate.worth_threshold",
        0.3,
        _("worth from which a turn counts as more than small talk."),
        _("of 1"),
        maximum=1,
    ),
    _knob(
        "gate.personal_data",
        "off",
        _("what happens to phone numbers, e-mail addresses, identity and card numbers."),
        choices=("off", "redact", "quarantine"),
    ),
    _knob(
        "gate.secrets",
        "redact",
        _("what happens to passwords, keys and tokens."),
        choices=("redact", "quarantine", "reject"),
    ),
    _knob(
        "gate.injection",
        "quarantine",
        _("what happens to text that gives orders to the agent that will read it."),
        choices=("quarantine", "accept"),
    ),
    _knob(
        "conflicts.settle",
        True,
        _("what a newer memory takes back or replaces leaves what is found; false: only people and clients supersede."),
    ),
    _knob(
        "retrieval.relevance_floor",
        RELEVANCE_FLOOR,
        _("relevance that a hit must reach for a question to count as answerable; 0: any hit will do."),
        _("of 1"),
        maximum=1,
    ),
    _knob("duplicates.collapse", True, _("a memory that repeats another one is folded into it.")),
    _knob("decay.enabled", True, _("the sweep archives memories whose strength has fallen below the floor.")),
    _knob("decay.floor", 0.05, _("strength below which a memory is archived."), _("of 1"), maximum=0.4),
    _knob(
        "decay.half_life_days.said",
        180.0,
        _("after so many days without use, half of the strength of what people said is left; 0: it never decays."),
        **_DAYS,
    ),
    _knob(
        "decay.half_life_days.answered",
        120.0,
        _(
            "after so many days without use, half of the strength of what agents, systems and tools said is left; "
            "0: it never decays."
        ),
        **_DAYS,
    ),
    _knob(
        "decay.half_life_days.episode",
        30.0,
        _("after so many days without use, half of the strength of talk that says little is left; 0: it never decays."),
        **_DAYS,
    ),
    _knob(
        "decay.half_life_days.document",
        0.0,
        _("after so many days without use, half of the strength of chunks of documents is left; 0: it never decays."),
        **_DAYS,
    ),
    _knob(
        "decay.half_life_days.fact",
        180.0,
        _("after so many days without use, half of the strength of facts is left; 0: they never decay."),
        **_DAYS,
    ),
    _knob(
        "decay.half_life_days.preference",
        730.0,
        _("after so many days without use, half of the strength of preferences is left; 0: they never decay."),
        **_DAYS,
    ),
    _knob(
        "preferences",
        "off",
        _(
            "rules: what people say that they like, avoid or usually do, and what they choose again and again, is kept "
            "as preferences, and found by requests that share no word with it; model: a language model, if one is set "
            "up for it, reads both, too."
        ),
        choices=("off", "rules", "model"),
    ),
    _knob(
        "extract",
        "off",
        _("facts: a language model, if one is set up for it, reads facts in new turns, which are stored beside them."),
        choices=("off", "facts"),
    ),
    _knob("training.consent", False, _("memories may be exported to train models on, and adapters made of them.")),
    _knob("ttl_days", 0, _("age at which a memory expires, used or not; 0: never."), **_DAYS),
    _knob("retention.packs_days", 90, _("age at which context packs are deleted; 0: never."), **_DAYS),
    _knob("retention.evaluation_days", 365, _("age at which evaluations are deleted; 0: never."), **_DAYS),
    _knob("retention.quarantine_days", 30, _("age at which quarantined text is deleted; 0: never."), **_DAYS),
    _knob("legal_hold", False, _("nothing is archived, expired, deleted or rewritten.")),
    _knob(
        "summary.messages",
        4,
        _("new messages after which a query asks for a session's summary again."),
        _("messages"),
        minimum=1,
        maximum=1000,
    ),
    _knob(
        "summary.tokens",
        1000,
        _("the same for fewer new messages that hold so many tokens together."),
        _("tokens"),
        minimum=1,
        maximum=1_000_000,
    ),
    _knob(
        "summary.idle_seconds",
        900,
        _("silence after which a summary takes in the last few new messages; 0: never."),
        _("seconds"),
        maximum=31_536_000,
    ),
    _knob(
        "working_memory.hours",
        24,
        _("how long a message stays in working memory."),
        _("hours"),
        minimum=1,
        maximum=8760,
    ),
    _knob("models.answer", "", _("model that answers.")),
    _knob("models.summarise", "", _("model that writes summaries.")),
    _knob("models.extract", "", _("model that reads names and facts.")),
    _knob(
        "models.judge",
        "",
        _("model that judges updates and suspected texts."),
    ),
    _knob("quota.memories", 0, _("memories that the namespace may hold; 0: no limit."), _("memories"), maximum=10**12),
    _knob("quota.writes_per_day", 0, _("memories that a day may add; 0: no limit."), _("memories"), maximum=10**12),
    _knob(
        "budget.period",
        "month",
        _("how long a budget of model calls lasts; it begins anew at midnight (UTC)."),
        choices=("day", "month"),
    ),
    _knob("budget.soft_usd", 0.0, _("cost of model calls from which answers warn; 0: never."), **_DOLLARS),
    _knob("budget.hard_usd", 0.0, _("cost beyond which no model is called; 0: no limit."), **_DOLLARS),
    _knob("budget.soft_tokens", 0, _("the same as budget.soft_usd, in tokens: for models without a price."), **_TOKENS),
    _knob("budget.hard_tokens", 0, _("the same as budget.hard_usd, in tokens."), **_TOKENS),
)
BY_KEY = {knob.key: knob for knob in KNOBS}
DEFAULTS: dict[str, Value] = {knob.key: knob.default for knob in KNOBS}


def read_policy(given: Mapping[str, str]) -> dict[str, Value]:
    """Parse MEMOS_POLICY by key. Raise ConfigurationError for an unknown key or a value out of range."""
    for key in given.keys() - BY_KEY.keys():
        raise ConfigurationError(f"{SETTING}: {key!r} is no value of the policy; they are: {', '.join(BY_KEY)}")
    return {key: BY_KEY[key].read(word) for key, word in given.items()}
