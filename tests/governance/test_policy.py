"""The values of a policy: declared once, validated, and read from three places."""

from __future__ import annotations

import re

import pytest

from memory.conf import ConfigurationError
from memory.governance.policy import Policy, contradictions, effective, flatten, nest
from memory.policy_values import BY_KEY, DEFAULTS, KNOBS, read_policy
from memory.removed_settings import POLICY_KEYS


def test_the_defaults_are_in_their_range_and_do_not_contradict_each_other():
    assert [knob.key for knob in KNOBS if knob.problem_of(knob.default)] == []
    assert contradictions(DEFAULTS) == {}
    assert Policy.of(DEFAULTS).half_life_days == {
        "said": 180,
        "answered": 120,
        "episode": 30,
        "document": 0,
        "fact": 180,
        "preference": 730,
    }


def test_every_value_is_documented():
    assert all(knob.help.endswith(".") and knob.range for knob in KNOBS)
    assert all(knob.unit for knob in KNOBS if knob.maximum)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.key)
@pytest.mark.parametrize(
    "value",
    [None, "on", "openai/", "/m", "openai/a b", "openai/a\n", [], {}, float("nan"), float("inf"), -1, -0.001, 10**400],
)
def test_what_is_out_of_range_is_a_problem(knob, value):
    assert knob.problem_of(value)


@pytest.mark.parametrize("knob", [knob for knob in KNOBS if knob.maximum], ids=lambda knob: knob.key)
def test_the_ends_of_a_range_are_part_of_it(knob):
    assert knob.problem_of(knob.minimum) is knob.problem_of(knob.maximum) is None
    assert knob.problem_of(knob.maximum + 1)
    assert knob.problem_of(True)


def test_nested_and_flat_are_each_others_opposite():
    assert flatten(nest(DEFAULTS)) == (DEFAULTS, {})


def test_deep_nonsense_is_refused_at_its_first_level():
    deep: dict = {}
    for _ in range(10_000):
        deep = {"decay": deep}

    _, problems = flatten(deep)

    assert list(problems) == ["decay.decay"]


def test_the_nearest_source_wins_and_is_named():
    environment = {**DEFAULTS, "ttl_days": 900, "decay.floor": 0.05}
    found = effective(environment, {"ttl_days": 30}, given=frozenset({"decay.floor"}))

    assert found.values["ttl_days"] == 30
    assert (found.origins["ttl_days"], found.origins["decay.floor"], found.origins["legal_hold"]) == (
        "namespace",
        "environment",
        "default",
    )


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("decay.floor=0.1", 0.1),
        ("ttl_days=365", 365),
        ("legal_hold=1", True),
        ("decay.enabled=false", False),
        ("gate.secrets=reject", "reject"),
        ("timezone=Europe/Vienna", "Europe/Vienna"),
        ("models.judge=vllm/org/large:7b", "vllm/org/large:7b"),
    ],
)
def test_the_environment_gives_values_by_their_keys(word, value):
    key, _, given = word.partition("=")

    assert read_policy({key: given}) == {key: value}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"decay.half_life_days.said": "-3"}, "decay.half_life_days.said=-3 must be a number from 0 to 36,500 days"),
        ({"decay.half_life_days.said": "1e999"}, "decay.half_life_days.said=1e999 must be"),
        ({"ttl_days": "soon"}, "ttl_days=soon must be a whole number"),
        ({"ttl_days": "1.5"}, "ttl_days=1.5 must be a whole number"),
        ({"legal_hold": "2"}, "legal_hold=2 must be true or false"),
        ({"gate.secrets": "keep"}, "gate.secrets=keep must be one of redact, quarantine, reject"),
        ({"timezone": "Vienna"}, "timezone=Vienna must be"),
        ({"models.judge": "large"}, "models.judge=large must be"),
        ({"gate.strcit": "1"}, "'gate.strcit' is no value of the policy"),
    ],
)
def test_a_wrong_value_of_the_environment_is_refused_by_its_key(given, says):
    with pytest.raises(ConfigurationError, match="MEMOS_POLICY: " + re.escape(says)):
        read_policy(given)


def test_each_former_setting_of_the_policy_names_its_key():
    assert set(POLICY_KEYS.values()) == BY_KEY.keys()
