"""The table of detectors: all of them are run, and their findings have an effect."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from memory import gate
from memory.enums import GateAction, GateDecision
from memory.gate import judge as judging
from memory.gate.detectors import DETECTORS
from memory.gate.findings import GateFindings, GateInput
from memory.gate.judgement import Reason
from memory.gate.policy import GatePolicy
from memory.gate.redaction import Detection

TEXT = "The word is swordfish, says Bo."


def test_every_module_with_a_detector_stands_in_the_table():
    modules = [import_module(f"memory.gate.{one.name}") for one in iter_modules(gate.__path__)]
    assert {module.detect for module in modules if hasattr(module, "detect")} == set(DETECTORS)


@pytest.mark.parametrize("detect", DETECTORS, ids=lambda detect: detect.__module__.rpartition(".")[2])
def test_a_harmless_turn_gives_no_detector_a_reason(detect):
    found = detect(GateInput("I moved to Porto in March.", "Ann", GatePolicy()))
    assert (list(found.reasons), list(found.marks), found.steering) == ([], [], 0.0)


@pytest.mark.parametrize(
    ("action", "decision", "kept"),
    [
        (GateAction.REDACT, GateDecision.ACCEPT_REDACTED, "The word is [redacted: password], says Bo."),
        (GateAction.QUARANTINE, GateDecision.QUARANTINE, TEXT),
        (GateAction.REJECT, GateDecision.REJECT, ""),
        (GateAction.ACCEPT, GateDecision.ACCEPT, TEXT),
    ],
)
def test_what_one_detector_more_finds_decides(monkeypatch, action, decision, kept):
    def detect(turn: GateInput) -> GateFindings:
        start = turn.text.index("swordfish")
        mark = Detection("password", start, start + len("swordfish"), 0.9)
        return GateFindings(action, [Reason("watchword", "It tells the word.", 0.9)], [mark])

    monkeypatch.setattr(judging, "DETECTORS", (*DETECTORS, detect))
    judged = judging.judge(TEXT, speaker="Bo")

    assert (judged.decision, judged.text) == (decision, kept)
    assert [reason.rule for reason in judged.reasons] == ["watchword"]


def test_one_detector_more_may_be_what_says_that_a_turn_steers(monkeypatch):
    def detect(turn: GateInput) -> GateFindings:
        return GateFindings(GateAction.ACCEPT, [], steering=0.7 if turn.speaker == "Bo" else 0.0)

    monkeypatch.setattr(judging, "DETECTORS", (*DETECTORS, detect))
    assert judging.judge(TEXT, speaker="Bo").suspected
    assert not judging.judge(TEXT, speaker="Ann").suspected
