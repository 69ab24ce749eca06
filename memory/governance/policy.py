"""A namespace's policy: the values in force, where each comes from, and which contradict each other.

A value (`memory/policy_values.py`) comes from the default, the environment, or the namespace's own policy, whichever is
the most specific. This module decides and explains; `services/tenancy/policy.py` reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from memory.enums import CHAT_PURPOSES, BudgetPeriod, MemoryKind, ModelPurpose, PolicyOrigin
from memory.governance.budget import Budget
from memory.policy_values import BY_KEY, KNOBS, Knob, Value
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _

# Decay must let a memory of this importance outlive its first day.
USUAL_IMPORTANCE = 0.5


@dataclass(frozen=True, slots=True)
class Policy:
    """The values in force in a namespace. The fields correspond to the keys of `KNOBS`, which describe them.

    Days, hours and minutes are durations; shares are from 0 to 1; 0 turns a limit off.
    """

    timezone: str
    strict: bool
    worth_threshold: float
    personal_data: str
    secrets: str
    injection: str
    settle_conflicts: bool
    relevance_floor: float
    collapse_duplicates: bool
    extract: str
    training_consent: bool
    preferences: str
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
    models: Mapping[ModelPurpose, str]
    budget: Budget

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Policy:
        """Build a policy from complete and valid values by key."""
        return cls(
            timezone=values["timezone"],
            strict=values["gate.strict"],
            worth_threshold=values["gate.worth_threshold"],
            personal_data=values["gate.personal_data"],
            secrets=values["gate.secrets"],
            injection=values["gate.injection"],
            settle_conflicts=values["conflicts.settle"],
            relevance_floor=values["retrieval.relevance_floor"],
            collapse_duplicates=values["duplicates.collapse"],
            extract=values["extract"],
            training_consent=values["training.consent"],
            preferences=values["preferences"],
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
            models={purpose: values[f"models.{purpose}"] for purpose in CHAT_PURPOSES},
            budget=_budget(values),
        )


@dataclass(frozen=True, slots=True)
class Effective:
    """The values in force by key, and the origin of each."""

    values: Mapping[str, Value]
    origins: Mapping[str, PolicyOrigin]

    @property
    def policy(self) -> Policy:
        return Policy.of(self.values)


def effective(environment: Mapping[str, Value], overrides: Mapping[str, Value], *, given: frozenset[str]) -> Effective:
    """Merge the namespace's own values over those of the environment; `given` has the keys that the latter sets."""
    values, origins = {}, {}
    for knob in KNOBS:
        if knob.key in overrides:
            values[knob.key], origins[knob.key] = overrides[knob.key], PolicyOrigin.NAMESPACE
        else:
            values[knob.key] = environment[knob.key]
            origins[knob.key] = PolicyOrigin.ENVIRONMENT if knob.key in given else PolicyOrigin.DEFAULT
    return Effective(values, origins)


def flatten(nested: Mapping[str, Any]) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the values of nested objects by key, and the problems with unknown keys and invalid values by place."""
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
                    values[key] = _convert(knob, value)
            elif _list_names_below(key):
                if isinstance(value, Mapping):
                    walk(value, key)
                else:
                    problems[key] = f"must be an object of {', '.join(_list_names_below(key))}."
            else:
                known = _list_names_below(place)
                problems[key] = (
                    f"is no value of a policy; {f'{place} has' if place else 'there are'} {', '.join(known)}."
                )

    walk(nested, "")
    return values, problems


def nest(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return values by key as nested objects, the format in which a policy is sent."""
    root: dict[str, Any] = {}
    for key, value in values.items():
        *path, last = key.split(".")
        place = root
        for name in path:
            place = place.setdefault(name, {})
        place[last] = value
    return root


def contradictions(values: Mapping[str, Any]) -> dict[str, str]:
    """Return why some of the values contradict each other and how to fix that, by key; `values` is complete."""
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
    for unit in ("usd", "tokens"):
        soft, hard = values[f"budget.soft_{unit}"], values[f"budget.hard_{unit}"]
        if hard and soft > hard:
            found[f"budget.soft_{unit}"] = Sentence(
                _("is above the hard limit (%(hard)s), so it never warns: lower it."), hard=f"{hard:g}"
            )
    return found


def _budget(values: Mapping[str, Any]) -> Budget:
    return Budget(
        period=BudgetPeriod(values["budget.period"]),
        soft_usd=Decimal(str(values["budget.soft_usd"])),
        hard_usd=Decimal(str(values["budget.hard_usd"])),
        soft_tokens=values["budget.soft_tokens"],
        hard_tokens=values["budget.hard_tokens"],
    )


def _convert(knob: Knob, value: Any) -> Value:
    if isinstance(knob.default, str | bool):
        return cast(Value, value)
    return float(value) if knob.fractional else int(value)


def _list_names_below(place: str) -> list[str]:
    """Return the names that are allowed in the object at `place`."""
    prefix = f"{place}." if place else ""
    names = (key.removeprefix(prefix).split(".")[0] for key in BY_KEY if key.startswith(prefix))
    return list(dict.fromkeys(names))
