"""Runs a cross-encoder from a local folder on ONNX Runtime, without downloads.

The folder has the layout of a published ONNX export: `model.onnx` or `onnx/model.onnx`, and `tokenizer.json`. The graph
takes `input_ids`, `attention_mask` and optionally `token_type_ids` [batch, tokens], and returns one logit per pair
[batch] or [batch, 1], or two [batch, 2] (unrelated, related). Source: Nogueira & Cho 2019 (Passage Re-ranking with
BERT).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from tokenizers import Encoding, Tokenizer

from memory.errors import RerankUnavailable
from memory.providers.rerank.interface import RerankerKind
from memory.providers.rerank.scores import check_scores

FILES = ("model.onnx", "onnx/model.onnx")
# Tokens per run including padding: one long pair, or a handful of short ones.
RUN_TOKENS = 1024
# A text is cut to this many characters for each token that the model reads, so that long ones cost no extra time.
CHARS_A_TOKEN = 16
_PADDING = ("[PAD]", "<pad>")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxReranker:
    """The model in `folder`; `file` names the graph if it isn't one of `FILES`, as in `onnx/model_int8.onnx`.

    Pairs are cut to `max_tokens` (or to what the model reads, if less), the longer of the two first, sorted by length
    and run in groups, `threads` of them at a time. `timeout` (seconds) bounds the runs, not the loading.
    """

    def __init__(self, folder: Path, *, file: str, max_tokens: int, threads: int, timeout: float) -> None:
        self._folder = folder
        self._file = file
        self._max_tokens = max_tokens
        self._timeout = timeout
        self._loading = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rerank")
        self.name = f"onnx/{folder.name}"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        with self._loading:
            tokenizer, session = self._tokenizer, self._session
            wanted, pad = self._input_types, self._pad
        if not texts:
            return []
        deadline = time.monotonic() + self._timeout
        readable = self._max_tokens * CHARS_A_TOKEN
        pairs = [(question[:readable], text[:readable]) for text in texts]
        encodings = tokenizer.encode_batch_fast(pairs)

        def run(rows: list[int]) -> np.ndarray:
            if time.monotonic() > deadline:
                raise RerankUnavailable(
                    f"{self.name} took more than MEMOS_RERANK_TIMEOUT_SECONDS={self._timeout:g} for "
                    f"{len(texts)} texts: raise it, or use a "
                    "smaller model."
                )
            return self._logits(session, _inputs([encodings[row] for row in rows], wanted, pad), len(rows))

        found = np.empty(len(texts), dtype=np.float64)
        groups = list(_groups(encodings))
        for rows, logits in zip(groups, self._pool.map(run, groups), strict=True):
            found[rows] = logits
        return check_scores(found.tolist(), texts, self.name)

    def _logits(self, session: Any, inputs: dict[str, np.ndarray], count: int) -> np.ndarray:
        try:
            logits = np.asarray(session.run(None, inputs)[0], dtype=np.float64)
        except Exception as error:  # the runtime has a separate class for each way a run can fail
            raise RerankUnavailable(f"{self.name} cannot be run: {_first_line(error)}") from error
        if logits.shape == (count,):
            return logits
        if logits.shape == (count, 1):
            return np.asarray(logits[:, 0])
        if logits.shape == (count, 2):
            return np.asarray(logits[:, 1] - logits[:, 0])
        raise RerankUnavailable(
            f"{self.name} gives an output of shape {logits.shape} to {count} pairs, not one score a pair: "
            "is it a cross-encoder (a sequence classifier with one label)?"
        )

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        source = self._existing("tokenizer.json")
        try:
            tokenizer = Tokenizer.from_file(str(source))
        except Exception as error:  # the library raises plain exceptions
            raise RerankUnavailable(f"{source} cannot be read: {_first_line(error)}") from error
        limits = [self._max_tokens, (tokenizer.truncation or {}).get("max_length", self._max_tokens), self._window()]
        tokenizer.enable_truncation(min(limits), strategy="longest_first")
        return tokenizer

    @cached_property
    def _pad(self) -> int:
        """The id of padding, because some models (such as RoBERTa) recognise it by its id."""
        declared = (self._tokenizer.padding or {}).get("pad_id")
        known = [self._tokenizer.token_to_id(token) for token in _PADDING]
        found = [number for number in (declared, *known) if number is not None]
        self._tokenizer.no_padding()
        return int(found[0]) if found else 0

    @cached_property
    def _session(self) -> Any:
        names = (self._file,) if self._file else FILES
        graph = next((path for name in names if (path := self._folder / name).is_file()), None)
        if graph is None:
            self._existing(names[0])
        # Its import starts a thread, which a web worker forked later lacks, so that it aborts at exit.
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        # Groups run in parallel, each on one thread, as in memory.providers.embedding.minilm.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime has a separate class for each way a file can be damaged
            raise RerankUnavailable(f"{graph} cannot be loaded: {_first_line(error)}") from error

    @cached_property
    def _input_types(self) -> dict[str, Any]:
        """The graph's inputs with their types."""
        types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        declared = {entry.name: types.get(entry.type) for entry in self._session.get_inputs()}
        if "input_ids" not in declared or not set(declared) <= set(_INPUTS) or None in declared.values():
            raise RerankUnavailable(
                f"{self.name} wants the inputs {', '.join(sorted(declared))}; a cross-encoder takes whole numbers as "
                f"{', '.join(_INPUTS)}."
            )
        return declared

    def _window(self) -> int:
        """Return how many tokens the model reads by its tokenizer_config.json, or else the number in the settings."""
        source = self._folder / "tokenizer_config.json"
        if not source.is_file():
            return self._max_tokens
        try:
            declared = json.loads(source.read_text(encoding="utf-8")).get("model_max_length")
            return int(declared or self._max_tokens)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise RerankUnavailable(f"{source} cannot be read: {_first_line(error)}") from error

    def _existing(self, name: str) -> Path:
        if not self._folder.is_dir():
            raise RerankUnavailable(f"There is no folder {self._folder}: set MEMOS_RERANK_MODEL_DIR to the model's.")
        if not (self._folder / name).is_file():
            wanted = self._file or " or ".join(FILES)
            raise RerankUnavailable(
                f"There is no {name} in {self._folder}: a reranker's folder holds tokenizer.json and {wanted}. "
                "MEMOS_RERANK_MODEL names a graph of another name."
            )
        return self._folder / name


def _groups(encodings: Sequence[Encoding]) -> Iterator[list[int]]:
    """Yield groups of rows with similar lengths, of at most `RUN_TOKENS` tokens including padding."""
    group: list[int] = []
    for row in sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids)):
        if group and len(encodings[row].ids) * (len(group) + 1) > RUN_TOKENS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _inputs(encodings: Sequence[Encoding], wanted: dict[str, Any], pad: int) -> dict[str, np.ndarray]:
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.full((len(encodings), width), pad)
    mask = np.zeros_like(ids)
    segments = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        ids[row, :length] = encoding.ids
        mask[row, :length] = 1
        segments[row, :length] = encoding.type_ids
    inputs = dict(zip(_INPUTS, (ids, mask, segments), strict=True))
    return {name: inputs[name].astype(kind) for name, kind in wanted.items()}


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}".rstrip(": ")


def _make() -> OnnxReranker:
    return OnnxReranker(
        Path(settings.MEMOS_RERANK_MODEL_DIR).expanduser(),
        file=settings.MEMOS_RERANK_MODEL,
        max_tokens=settings.MEMOS_RERANK_MAX_TOKENS,
        threads=settings.MEMOS_RERANK_THREADS,
        timeout=settings.MEMOS_RERANK_TIMEOUT_SECONDS,
    )


KIND = RerankerKind("MEMOS_RERANK_MODEL_DIR", "the model's folder", _make)
