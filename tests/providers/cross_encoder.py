"""A cross-encoder small enough for a test to build: it counts the words that question and text share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("train", "lyon", "leave", "leaves", "kitchen", "yellow", "painted", "when", "the", "to", "we", "at")
# [CLS] question [SEP] text [SEP]
ADDED_TOKENS = 3
_FIRST_WORD = 4


def build(
    folder: Path,
    *,
    file: str = "model.onnx",
    labels: int | None = 1,
    segments: bool = True,
    wrong_way_round: bool = False,
) -> Path:
    """Write a tokenizer and a graph whose score is the number of known words on both sides.

    `labels`: 1 gives [batch, 1], 2 gives [batch, 2] (zeros, scores), None gives [batch], and more gives as many
    columns. `wrong_way_round` gives the lower score to the pair that shares more. Without `segments` the graph cannot
    tell the sides apart, and counts the pair's known words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer(folder)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(labels, segments, -1.0 if wrong_way_round else 1.0), folder / file)
    return folder


def tokenizer(folder: Path, *, window: int | None = None) -> None:
    """Write tokenizer.json, with one token for each word."""
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS)
    made = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    if window:
        made.enable_truncation(window)
    made.save(str(folder / "tokenizer.json"))


def _graph(labels: int | None, segments: bool, sign: float) -> onnx.ModelProto:
    size = len(WORDS) + _FIRST_WORD
    words = np.zeros((size, size), dtype=np.float32)
    for number in range(_FIRST_WORD, size):
        words[number, number] = 1.0
    constants = [
        numpy_helper.from_array(words, "words"),
        numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
        numpy_helper.from_array(np.array(1.0, np.float32), "one"),
        numpy_helper.from_array(np.array(sign, np.float32), "sign"),
    ]
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
    ]
    if segments:
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["side"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["side", "mask"], ["second"]),
            helper.make_node("Sub", ["mask", "second"], ["first"]),
        ]
    sides = ("first", "second") if segments else ("mask",)
    for side in sides:
        nodes += [
            helper.make_node("Unsqueeze", [side, "last"], [f"{side}.column"]),
            helper.make_node("Mul", ["each", f"{side}.column"], [f"{side}.words"]),
            helper.make_node("ReduceSum", [f"{side}.words", "tokens"], [f"{side}.counts"], keepdims=0),
            helper.make_node("Min", [f"{side}.counts", "one"], [f"{side}.present"]),
        ]
    present = [f"{side}.present" for side in sides]
    nodes.append(helper.make_node("Mul", [present[0], present[-1]], ["shared"]))
    keep = 0 if labels is None else 1
    nodes.append(helper.make_node("ReduceSum", ["shared", "tokens"], ["count"], keepdims=keep))
    nodes.append(helper.make_node("Mul", ["count", "sign"], ["score"]))
    output = "score"
    if labels and labels > 1:
        nodes.append(helper.make_node("Sub", ["score", "score"], ["nothing"]))
        nodes.append(helper.make_node("Concat", ["nothing"] * (labels - 1) + ["score"], ["columns"], axis=1))
        output = "columns"
    names = ("input_ids", "attention_mask", *(("token_type_ids",) if segments else ()))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    shape = ["batch"] if labels is None else ["batch", labels]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "words in common", inputs, outputs, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
