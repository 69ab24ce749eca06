"""The cross-encoder on ONNX Runtime, with a model that the test builds and that counts the words in common."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from memory.errors import RerankUnavailable
from memory.providers.rerank.onnx import OnnxReranker
from memory.providers.rerank.registry import find_reranker
from tests.providers.cross_encoder import ADDED_TOKENS, build, tokenizer

QUESTION = "when leaves the train to lyon"
TEXTS = ["we painted the kitchen yellow", "the train to lyon leaves at", "kitchen", "train"]
SHARED = [1.0, 5.0, 0.0, 1.0]


def reranker(folder: Path, *, file: str = "", max_tokens: int = 64, timeout: float = 30.0) -> OnnxReranker:
    return OnnxReranker(folder, file=file, max_tokens=max_tokens, threads=2, timeout=timeout)


def test_a_missing_folder_is_named_with_the_setting(tmp_path):
    with pytest.raises(RerankUnavailable, match=r"no folder .*nowhere: set MEMOS_RERANK_MODEL_DIR"):
        reranker(tmp_path / "nowhere").scores(QUESTION, TEXTS)


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.onnx"])
def test_a_missing_file_is_named(tmp_path, missing):
    (build(tmp_path) / missing).unlink()
    with pytest.raises(RerankUnavailable, match=rf"There is no {missing} in .* tokenizer.json and model.onnx or onnx/"):
        reranker(tmp_path).scores(QUESTION, TEXTS)


@pytest.mark.parametrize("damaged", ["tokenizer.json", "model.onnx"])
def test_a_damaged_file_is_named(tmp_path, damaged):
    (build(tmp_path) / damaged).write_bytes(b"<html>not found</html>")
    with pytest.raises(RerankUnavailable, match=f"{damaged} cannot be"):
        reranker(tmp_path).scores(QUESTION, TEXTS)


@pytest.mark.parametrize("content", ["no json", "[1]", '{"model_max_length": "long"}', '{"model_max_length": [1]}'])
def test_a_damaged_tokenizer_configuration_is_named(tmp_path, content):
    (build(tmp_path) / "tokenizer_config.json").write_text(content)
    with pytest.raises(RerankUnavailable, match=r"tokenizer_config\.json cannot be read"):
        reranker(tmp_path).scores(QUESTION, TEXTS)


def test_a_model_that_gives_no_score_a_pair_is_refused(tmp_path):
    with pytest.raises(RerankUnavailable, match="not one score a pair"):
        reranker(build(tmp_path, labels=3)).scores(QUESTION, TEXTS)


def test_a_model_with_other_inputs_is_refused(tmp_path):
    build(tmp_path)
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch"])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch"])
    graph = helper.make_graph([helper.make_node("Identity", ["pixels"], ["out"])], "other", [pixels], [out])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "model.onnx"
    )
    with pytest.raises(RerankUnavailable, match="wants the inputs pixels"):
        reranker(tmp_path).scores(QUESTION, TEXTS)


def test_a_model_whose_run_fails_is_unavailable(tmp_path):
    build(tmp_path)
    made = json.loads((tmp_path / "tokenizer.json").read_text())
    made["model"]["vocab"]["train"] = 4_000  # beyond what the graph knows
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    with pytest.raises(RerankUnavailable, match="cannot be run"):
        reranker(tmp_path).scores(QUESTION, TEXTS)


def test_runs_that_take_too_long_are_given_up(tmp_path):
    slow = reranker(build(tmp_path), timeout=-1.0)  # over before the first run
    with pytest.raises(RerankUnavailable, match=r"MEMOS_RERANK_TIMEOUT_SECONDS=-1 for 4 texts"):
        slow.scores(QUESTION, TEXTS)


@pytest.mark.parametrize("labels", [1, 2, None])
def test_pairs_that_share_words_score_higher_whatever_the_output_looks_like(tmp_path, labels):
    assert reranker(build(tmp_path, labels=labels)).scores(QUESTION, TEXTS) == SHARED


def test_a_model_without_segments_is_not_given_any(tmp_path):
    scores = reranker(build(tmp_path, segments=False)).scores("when", ["train", "kitchen to lyon"])
    assert scores == [2.0, 4.0]


@pytest.mark.parametrize(("file", "named"), [("onnx/model.onnx", ""), ("onnx/int8.onnx", "onnx/int8.onnx")])
def test_the_graph_may_lie_where_exports_put_it_or_where_the_setting_says(tmp_path, file, named):
    assert reranker(build(tmp_path, file=file), file=named).scores(QUESTION, TEXTS) == SHARED


def test_scores_do_not_depend_on_the_texts_beside_them(tmp_path):
    made = reranker(build(tmp_path))
    many = [TEXTS[number % 4] + " and" * (number * 7 % 23) for number in range(50)]
    together = made.scores(QUESTION, many)
    assert together == [made.scores(QUESTION, [text])[0] for text in many]
    assert together == [SHARED[number % 4] for number in range(50)]


def test_what_the_model_cannot_read_is_cut_from_the_longer_side(tmp_path):
    late = "filler " * 100 + "train"
    build(tmp_path)
    assert reranker(tmp_path, max_tokens=64).scores("train", [late, "train " * 3]) == [0.0, 1.0]
    assert reranker(tmp_path, max_tokens=128).scores("train", [late]) == [1.0]
    # A long text never cuts off the question, nor a long question the text.
    assert reranker(tmp_path, max_tokens=16).scores("train " + "x " * 400, ["train " + "y " * 400]) == [1.0]
    assert reranker(tmp_path, max_tokens=64).scores("x " * 400, ["train"]) == [0.0]


@pytest.mark.parametrize("where", ["tokenizer.json", "tokenizer_config.json"])
def test_the_window_of_the_model_bounds_the_setting(tmp_path, where):
    build(tmp_path)
    window = ADDED_TOKENS + 1 + 4
    if where == "tokenizer.json":
        tokenizer(tmp_path, window=window)
    else:
        (tmp_path / where).write_text(json.dumps({"model_max_length": window}))
    scores = reranker(tmp_path).scores("train", ["x x x train x", "x x x x train"])
    assert scores == [1.0, 0.0]


def test_an_endless_window_is_no_window(tmp_path):
    (build(tmp_path) / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    assert reranker(tmp_path).scores(QUESTION, TEXTS) == SHARED


def test_no_texts_have_no_scores_and_empty_ones_have_one(tmp_path):
    made = reranker(build(tmp_path))
    assert made.scores(QUESTION, []) == []
    assert np.isfinite(made.scores("", ["", "🙂\0", "train"])).all()


def test_the_settings_make_it_once_and_a_change_makes_another(settings, tmp_path):
    assert find_reranker() is None
    settings.MEMOS_RERANK_PROVIDER = "onnx"
    with pytest.raises(RerankUnavailable, match="needs MEMOS_RERANK_MODEL_DIR"):
        find_reranker()
    settings.MEMOS_RERANK_MODEL_DIR = str(build(tmp_path / "tiny"))
    made = find_reranker()
    assert made is find_reranker()
    assert made is not None
    assert (made.name, made.scores(QUESTION, TEXTS)) == ("onnx/tiny", SHARED)
    settings.MEMOS_RERANK_TIMEOUT_SECONDS = 5.0
    assert find_reranker() is not made
