"""What governs a namespace: every value with its unit, range and default, and which values contradict each other.

A value comes from the default, from the environment, or from the namespace's own policy; the last one given wins. This
module decides and explains; `services/tenancy/policy.py` reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from memory.conf import Environment
from memory.enums import MemoryKind, PolicyOrigin
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _

Value = bool | int | float | str

# A memory of this importance is what decay is checked against: it must outlive its first day.
USUAL_IMPORTANCE = 0.5
# Leaving out what is below loses less than a point of R@10 on every set that it was measured on: docs/relevance.md.
RELEVANCE_FLOOR = 0.04


@dataclass(frozen=True, slots=True)
class Knob:
    """One governed value. `choices` for words; `minimum`..`maximum` for numbers; `setting` is its environment name."""

    key: str
    default: Value
    help: Sentence
    unit: Sentence
    choices: tuple[str, ...] = ()
    minimum: float = 0.0
    maximum: float = 0.0
    setting: str = ""

    @property
    def range(self) -> Sentence:
        """What it may be, in words."""
        if isinstance(self.default, bool):
            return Sentence(_("true or false"))
        if self.choices:
            return Sentence(_("one of %(choices)s"), choices=", ".join(self.choices))
        ends = {"low": f"{self.minimum:g}", "high": f"{self.maximum:,.15g}"}
        if self.fractional:
            return Sentence(_("a number from %(low)s to %(high)s"), **ends)
        return Sentence(_("a whole number from %(low)s to %(high)s"), **ends)

    @property
    def fractional(self) -> bool:
        return isinstance(self.default, float)

    def problem_of(self, value: object) -> str | None:
        """What is wrong with `value`, as a sentence without its subject; None when nothing is."""
        if isinstance(self.default, bool):
            right = isinstance(value, bool)
        elif self.choices:
            right = isinstance(value, str) and value in self.choices
        elif isinstance(value, bool) or not isinstance(value, int | float):
            right = False
        else:
            right = self.minimum <= value <= self.maximum and (self.fractional or value == int(value))
        if right:
            return None
        if self.unit:
            return Sentence(_("must be %(range)s %(unit)s."), range=self.range, unit=self.unit)
        return Sentence(_("must be %(range)s."), range=self.range)

    def read(self, env: Environment) -> Value:
        """The value that the environment gives, or the default; declares the setting."""
        help_text = f"`{self.key}`: {self.help}"
        if isinstance(self.default, bool):
            return env.flag(self.setting, self.default, help_text)
        if isinstance(self.default, str):
            return env.text(self.setting, self.default, help_text, choices=self.choices)
        if isinstance(self.default, float):
            return env.number(self.setting, self.default, help_text, minimum=self.minimum, maximum=self.maximum)
        return env.integer(self.setting, self.default, help_text, minimum=int(self.minimum), maximum=int(self.maximum))


def _knob(key: str, default: Value, help: str, unit: str = "", **options: Any) -> Knob:
    setting = options.pop("setting", f"MEMOS_POLICY_{key.upper().replace('.', '_')}")
    return Knob(key, default, Sentence(help), Sentence(unit), setting=setting, **options)


_DAYS: Final[dict[str, Any]] = {"unit": _("days"), "maximum": 36_500}

KNOBS: tuple[Knob, ...] = (
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
        setting="MEMOS_SUMMARY_REFRESH_MESSAGES",
    ),
    _knob(
        "summary.tokens",
        1000,
        _("the same for fewer new messages that hold so many tokens together."),
        _("tokens"),
        minimum=1,
        maximum=1_000_000,
        setting="MEMOS_SUMMARY_REFRESH_TOKENS",
    ),
    _knob(
        "summary.idle_seconds",
        900,
        _("silence after which a summary takes in the last few new messages; 0: never."),
        _("seconds"),
        maximum=31_536_000,
        setting="MEMOS_SUMMARY_IDLE_SECONDS",
    ),
    _knob(
        "working_memory.hours",
        24,
        _("how long a message stays in working memory."),
        _("hours"),
        minimum=1,
        maximum=8760,
    ),
    _knob("quota.memories", 0, _("memories that the namespace may hold; 0: no limit."), _("memories"), maximum=10**12),
    _knob("quota.writes_per_day", 0, _("memories that a day may add; 0: no limit."), _("memories"), maximum=10**12),
)
BY_KEY = {knob.key: knob for knob in KNOBS}


@dataclass(frozen=True, slots=True)
class Policy:
    """The values in force in a namespace. The fields are the keys of KNOBS, which say what each means.

    Days, hours and minutes are lengths of time; shares are from 0 to 1; 0 switches a limit off.
    """

    strict: bool
    worth_threshold: float
    personal_data: str
    secrets: str
    injection: str
    settle_conflicts: bool
    relevance_floor: float
    collapse_duplicates: bool
    decay: bool
    floor: float
    half_life_days: Mapping[MemoryKind, float]
    ttl_days: int
    packs_days: int
    evaluation_days: int
    quarantine_days: int
    legal_hold: bool
    summary_messages: int
    summary_tokens: int
    summary_idle_seconds: int
    working_memory_hours: int
    memories_quota: int
    writes_per_day: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Policy:
        """The policy of values by their keys, all of them given and right."""
        return cls(
            strict=values["gate.strict"],
            worth_threshold=values["gate.worth_threshold"],
            personal_data=values["gate.personal_data"],
            secrets=values["gate.secrets"],
            injection=values["gate.injection"],
            settle_conflicts=values["conflicts.settle"],
            relevance_floor=values["retrieval.relevance_floor"],
            collapse_duplicates=values["duplicates.collapse"],
            decay=values["decay.enabled"],
            floor=values["decay.floor"],
            half_life_days={kind: values[f"decay.half_life_days.{kind}"] for kind in MemoryKind},
            ttl_days=values["ttl_days"],
            packs_days=values["retention.packs_days"],
            evaluation_days=values["retention.evaluation_days"],
            quarantine_days=values["retention.quarantine_days"],
            legal_hold=values["legal_hold"],
            summary_messages=values["summary.messages"],
            summary_tokens=values["summary.tokens"],
            summary_idle_seconds=values["summary.idle_seconds"],
            working_memory_hours=values["working_memory.hours"],
            memories_quota=values["quota.memories"],
            writes_per_day=values["quota.writes_per_day"],
        )


@dataclass(frozen=True, slots=True)
class Effective:
    """The values in force, by key, and where each comes from."""

    values: Mapping[str, Value]
    origins: Mapping[str, PolicyOrigin]

    @property
    def policy(self) -> Policy:
        return Policy.of(self.values)


def effective(environment: Mapping[str, Value], overrides: Mapping[str, Value], *, given: frozenset[str]) -> Effective:
    """Defaults, then the environment's values (`given`: the settings that it names), then the namespace's own."""
    values, origins = {}, {}
    for knob in KNOBS:
        if knob.key in overrides:
            values[knob.key], origins[knob.key] = overrides[knob.key], PolicyOrigin.NAMESPACE
        else:
            values[knob.key] = environment[knob.key]
            origins[knob.key] = PolicyOrigin.ENVIRONMENT if knob.setting in given else PolicyOrigin.DEFAULT
    return Effective(values, origins)


def flattened(nested: Mapping[str, Any]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values by key out of nested objects, and what is wrong, by place: unknown keys and values out of range."""
    values: dict[str, Value] = {}
    problems: dict[str, str] = {}

    def walk(mapping: Mapping[str, Any], place: str) -> None:
        for name, value in mapping.items():
            key = f"{place}.{name}" if place else str(name)
            knob = BY_KEY.get(key)
            if "." in str(name):
                problems[key] = "is no name of a policy: write an object inside an object, not a dot."
            elif knob is not None:
                problem = knob.problem_of(value)
                if problem:
                    problems[key] = problem
                else:
                    values[key] = _as_typed(knob, value)
            elif _known_below(key):
                if isinstance(value, Mapping):
                    walk(value, key)
                else:
                    problems[key] = f"must be an object of {', '.join(_known_below(key))}."
            else:
                known = _known_below(place)
                problems[key] = (
                    f"is no value of a policy; {f'{place} has' if place else 'there are'} {', '.join(known)}."
                )

    walk(nested, "")
    return values, problems


def nested(values: Mapping[str, Value]) -> dict[str, Any]:
    """Values by key as nested objects: the shape in which a policy is sent."""
    root: dict[str, Any] = {}
    for key, value in values.items():
        *path, last = key.split(".")
        place = root
        for name in path:
            place = place.setdefault(name, {})
        place[last] = value
    return root


def contradictions(values: Mapping[str, Any]) -> dict[str, str]:
    """Values that cannot be meant together (`values` are all): for each one at fault, why and how to mend it."""
    found: dict[str, str] = {}
    half_life = {kind: values[f"decay.half_life_days.{kind}"] for kind in MemoryKind}
    if values["gate.strict"] and values["gate.worth_threshold"] == 0:
        found["gate.worth_threshold"] = Sentence(
            _("is 0, so the strict gate would keep nothing out: raise it above 0, or set gate.strict to false.")
        )
    if values["decay.enabled"]:
        for kind, days in half_life.items():
            if days and USUAL_IMPORTANCE * 2 ** (-1 / days) < values["decay.floor"]:
                found[f"decay.half_life_days.{kind}"] = Sentence(
                    _(
                        "of %(days)s days takes a memory below the decay.floor of %(floor)s within its first day: "
                        "lengthen it, lower the floor, or set decay.enabled to false."
                    ),
                    days=f"{days:g}",
                    floor=f"{values['decay.floor']:g}",
                )
        said, episode = half_life[MemoryKind.SAID], half_life[MemoryKind.EPISODE]
        if said and (not episode or episode > said):
            outlasts = _(
                "outlasts that of what is said (%(days)s days), though episodes are the first to decay: "
                "give at most that, and not 0."
            )
            found.setdefault("decay.half_life_days.episode", Sentence(outlasts, days=f"{said:g}"))
    ttl = values["ttl_days"]
    if ttl and ttl * 24 < values["working_memory.hours"]:
        found["ttl_days"] = Sentence(
            _(
                "of %(days)s days is shorter than working_memory.hours (%(hours)s): working memory would show what "
                "has expired. Lengthen it, or shorten working_memory.hours."
            ),
            days=ttl,
            hours=values["working_memory.hours"],
        )
    memories, writes = values["quota.memories"], values["quota.writes_per_day"]
    if memories and writes > memories:
        found["quota.writes_per_day"] = Sentence(
            _(
                "is more than quota.memories (%(memories)s), so it can never be reached: lower it, or raise "
                "quota.memories."
            ),
            memories=memories,
        )
    return found


def _as_typed(knob: Knob, value: Any) -> Value:
    if knob.choices or isinstance(knob.default, bool):
        return cast(Value, value)
    return float(value) if knob.fractional else int(value)


def _known_below(place: str) -> list[str]:
    """The names that may stand in the object at `place`."""
    prefix = f"{place}." if place else ""
    names = (key.removeprefix(prefix).split(".")[0] for key in BY_KEY if key.startswith(prefix))
    return list(dict.fromkeys(names))
