"""The values of a policy: declared once, checked, and taken from three places."""

from __future__ import annotations

import pytest

from memory.conf import ConfigurationError, Environment
from memory.governance.policy import Policy, contradictions, effective, flatten, nest
from memory.policy_values import BY_KEY, KNOBS

DEFAULTS = {knob.key: knob.default for knob in KNOBS}


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


def test_every_value_is_documented_and_has_a_setting_of_its_own():
    assert all(knob.help.endswith(".") and knob.range for knob in KNOBS)
    assert len({knob.setting for knob in KNOBS}) == len(KNOBS)
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
    found = effective(environment, {"ttl_days": 30}, given=frozenset({"MEMOS_POLICY_DECAY_FLOOR"}))

    assert found.values["ttl_days"] == 30
    assert (found.origins["ttl_days"], found.origins["decay.floor"], found.origins["legal_hold"]) == (
        "namespace",
        "environment",
        "default",
    )


@pytest.mark.parametrize(("value", "what"), [("-3", "outside"), ("soon", "not a number"), ("1e999", "outside")])
def test_a_wrong_value_of_the_environment_is_refused_by_its_name(value, what):
    knob = BY_KEY["decay.half_life_days.said"]

    with pytest.raises(ConfigurationError, match=f"MEMOS_POLICY_DECAY_HALF_LIFE_DAYS_SAID.*{what}"):
        knob.read(Environment({knob.setting: value}))


def test_the_environment_says_which_settings_it_gives():
    env = Environment({"MEMOS_POLICY_TTL_DAYS": "0"})
    for key in ("ttl_days", "legal_hold"):
        BY_KEY[key].read(env)

    assert env.given == {"MEMOS_POLICY_TTL_DAYS"}
