"""The measure of the cards, on sessions for which the important turns are known."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
LINES = [
    "Ida: Hi Per, how are you today?",
    "Per: Hey! All good here, thanks for asking. The weather has been so nice lately.",
    "Ida: I signed the lease for the workshop in Bergen.",
    "Per: Wow, that sounds great!",
    "Ida: The rent is 900 euros, and we open on 3 June.",
    "Per: I am so happy for you, that is amazing news and you really deserve it so much.",
]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_condensation", BENCH / "condensation.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def case(bench, tmp_path):
    row = {
        "group": "g",
        "session": 2,
        "time": "1:56 pm on 8 May, 2023",
        "turns": LINES,
        "session_summary": "Ida opens a workshop in Bergen.",
        "observation": {"Ida": [["Ida has a workshop.", "D2:3"], ["It opens in June.", ["D2:5", "D1:1"]]]},
    }
    (tmp_path / "sessions.jsonl").write_text(json.dumps(row) + "\n")
    (found,) = bench.sessions(tmp_path / "sessions.jsonl")
    return found


def test_the_turns_that_observations_come_from_are_wanted(case):
    assert case.wanted == {2, 4}
    assert [turn.speaker for turn in case.turns[:2]] == ["Ida", "Per"]
    assert case.turns[2].text == "I signed the lease for the workshop in Bergen."


def test_whole_turns_and_cards_keep_to_the_budget_as_counted_with_their_heading(bench, case):
    for budget in (20, 40, 60, 1000):
        told = [one for _, one in bench.baselines(case, budget)]
        told += [bench.card(case, budget), bench.card(case, budget, batch=2)]
        assert all(one.tokens <= budget for one in told)
    everything = bench.whole_turns(case, range(len(LINES)), 1000)
    assert everything.tokens == bench.count_tokens(bench.HEADING + everything.text)


def test_a_card_is_counted_as_it_is_handed_over(bench, case):
    told = bench.card(case, None)
    assert told.tokens == bench.count_tokens(bench.HEADING + told.text)
    assert told.turns <= set(range(len(LINES)))


def test_what_is_kept_and_how_precisely(bench, case):
    told = bench.Told(frozenset({2, 3}), "", case.tokens // 2)
    assert bench.score_kept(case, told)[:2] == [0.5, 0.5]


def test_the_card_keeps_more_than_the_turns_do(bench, case):
    rows = bench.measure([case], 0.4, 2, bench.score_kept)
    assert rows["card"][0] > rows["first turns"][0]


def test_a_text_is_nearest_to_its_own_summary(bench, case):
    scorer = bench.RougeScorer(list(bench.ROUGES), use_stemmer=True)
    same = bench.rouge(case, bench.Told(frozenset(), case.summary, 0), scorer)
    assert same == [1.0, 1.0, 1.0]
    assert bench.rouge(case, bench.Told(frozenset(), "Nothing alike.", 0), scorer) == [0.0, 0.0, 0.0]
