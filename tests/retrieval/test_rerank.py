"""The second stage: its part of the score, and that a failure of the model costs only that part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory.retrieval import rerank as stage
from memory.retrieval.rerank import RERANK_SKIPPED, Reranked, RerankPart, parts, pool_size, rerank, resume
from tests.providers.cross_encoder import build

QUESTION = "when leaves the train to lyon"
TEXTS = ["train", "the train to lyon leaves at", "kitchen"]


@pytest.fixture
def model(settings, tmp_path: Path) -> Callable[..., Path]:
    """Switches the stage on, with a model that counts common words."""

    def switch_on(**options: object) -> Path:
        settings.MEMOS_RERANK_PROVIDER = "onnx"
        settings.MEMOS_RERANK_MODEL_DIR = str(build(tmp_path))
        for name, value in options.items():
            setattr(settings, f"MEMOS_RERANK_{name.upper()}", value)
        return tmp_path

    return switch_on


def test_it_is_off_by_default_and_then_costs_nothing_and_says_nothing():
    assert pool_size() == 0
    assert rerank(QUESTION, TEXTS) == Reranked([], [])


def test_the_best_candidate_gets_the_weight_and_the_worst_nothing(model):
    model(weight=2.0)
    found = rerank(QUESTION, TEXTS)
    assert found.degraded == []
    assert [part.raw for part in found.parts] == [1.0, 5.0, 0.0]
    assert [part.weighted for part in found.parts] == pytest.approx([0.4, 2.0, 0.0])


def test_only_as_many_as_wanted_are_read(model):
    model(candidates=2)
    assert pool_size() == 2
    assert [part.raw for part in rerank(QUESTION, TEXTS).parts] == [1.0, 5.0]
    assert rerank(QUESTION, []) == Reranked()


def test_a_model_that_fails_costs_its_part_and_is_left_alone_for_a_while(model, monkeypatch: pytest.MonkeyPatch):
    graph = model() / "model.onnx"
    kept = graph.read_bytes()
    graph.unlink()
    assert rerank(QUESTION, TEXTS) == Reranked([], [RERANK_SKIPPED])
    graph.write_bytes(kept)
    assert rerank(QUESTION, TEXTS).degraded == [RERANK_SKIPPED]
    monkeypatch.setattr(stage, "PAUSE_SECONDS", 0.0)
    resume()
    assert len(rerank(QUESTION, TEXTS).parts) == 3
    graph.unlink()
    assert len(rerank(QUESTION, TEXTS).parts) == 3  # it is loaded


def test_a_setting_that_is_missing_is_such_a_failure_and_its_change_ends_the_pause(settings, model):
    settings.MEMOS_RERANK_PROVIDER = "tei"
    assert rerank(QUESTION, TEXTS).degraded == [RERANK_SKIPPED]
    model()
    assert rerank(QUESTION, TEXTS).degraded == []


def test_the_reason_is_logged_and_no_memory_is(model, caplog: pytest.LogCaptureFixture):
    (model() / "tokenizer.json").unlink()
    rerank(QUESTION, TEXTS)
    (record,) = caplog.records
    assert "There is no tokenizer.json" in record.__dict__["reason"]
    assert not any(word in str(record.__dict__) for word in (QUESTION, *TEXTS))


@pytest.mark.parametrize(
    ("scores", "weighted"),
    [
        ([-11.0, 9.0, -1.0], [0.0, 1.0, 0.5]),  # logits
        ([0.0001, 0.0003, 0.0002], [0.0, 1.0, 0.5]),  # probabilities that crowd near 0
        ([0.7, 0.7], [0.0, 0.0]),
        ([4.0], [0.0]),
        ([0.0, 5e-324], [0.0, 1.0]),
        ([], []),
    ],
)
def test_scores_are_stretched_over_the_candidates(scores, weighted):
    assert [part.weighted for part in parts(scores, 1.0)] == pytest.approx(weighted)
    assert [part.weighted for part in parts(scores, 3.0)] == pytest.approx([3 * share for share in weighted])
    assert parts(scores, 0.0) == [RerankPart(score, 0.0) for score in scores]
