from __future__ import annotations

import pytest

from memory.enums import GateAction, PersonalDataKind
from memory.gate.policy import GatePolicy


def test_by_default_nothing_is_refused():
    policy = GatePolicy()

    assert not policy.strict
    assert (policy.secrets, policy.injection, policy.personal_data) == ("redact", "quarantine", "off")


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"secrets": GateAction.OFF}, "secrets is 'off': use redact, quarantine, reject"),
        ({"personal_data": GateAction.REJECT}, "personal_data is 'reject': use off, redact, quarantine"),
        ({"injection": "redact"}, "injection is 'redact'"),
        ({"contradictions": GateAction.REJECT}, "contradictions"),
        ({"binary": GateAction.ACCEPT}, "binary"),
        ({"worth_threshold": -0.1}, "worth_threshold is -0.1: use a number from 0 to 1"),
        ({"worth_threshold": float("nan")}, "worth_threshold"),
        ({"personal_kinds": frozenset({"shoe size"})}, "personal_kinds has shoe size"),
        ({"region": "usa"}, "region is 'usa'"),
    ],
)
def test_refuses_what_it_cannot_keep_and_says_what_would_do(fault, named):
    with pytest.raises(ValueError, match=named.replace("(", "[(]")):
        GatePolicy(**fault)


def test_takes_stored_words():
    policy = GatePolicy(secrets="quarantine", personal_kinds=frozenset({"email"}))

    assert policy.secrets == GateAction.QUARANTINE
    assert PersonalDataKind.EMAIL in policy.personal_kinds
