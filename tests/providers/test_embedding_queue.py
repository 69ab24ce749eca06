"""The order of texts for a model that runs one request at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from memory.providers.minilm import scheduling
from memory.providers.minilm.model import TextRun
from memory.providers.minilm.scheduling import EmbeddingQueue


class SteppedModel:
    """A model for which each text is a run; `let_one` lets the next run end, and `begun` lists the runs' texts."""

    dimensions = 384

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._texts: dict[int, str] = {}
        self._may_end = threading.Semaphore(0)
        self._has_begun = threading.Semaphore(0)

    def split(self, texts: Sequence[str]) -> list[TextRun]:
        # Each character is a token.
        runs = [TextRun([number], {"input_ids": np.zeros((1, len(text)))}) for number, text in enumerate(texts)]
        self._texts |= {id(run): text for run, text in zip(runs, texts, strict=True)}
        return runs

    def embed_together(self, runs: Sequence[TextRun]) -> list[np.ndarray]:
        texts = [self._texts[id(run)] for run in runs]
        self.begun.append(" + ".join(texts))
        self._has_begun.release()
        self._may_end.acquire()
        if "bad" in texts:
            raise ValueError("this text cannot be embedded")
        return [np.full((1, 384), float(len(text)), np.float32) for text in texts]

    def wait_begun(self) -> None:
        assert self._has_begun.acquire(timeout=20)

    def let(self, runs: int) -> None:
        self._may_end.release(runs)


@pytest.fixture
def model() -> SteppedModel:
    return SteppedModel()


def _embed(queue: EmbeddingQueue, model: SteppedModel, *texts: str, background: bool = False) -> threading.Thread:
    thread = threading.Thread(target=queue.embed, args=(model, texts), kwargs={"is_background": background})
    before = len(queue._requests)
    thread.start()
    while len(queue._requests) == before:
        time.sleep(0.001)
    return thread


def test_who_lacks_the_fewest_runs_is_next_and_the_background_last(model, monkeypatch):
    monkeypatch.setattr(scheduling, "PATIENCE_SECONDS", 600)
    queue = EmbeddingQueue(1)
    first = _embed(queue, model, "batch", "batch", "batch")
    model.wait_begun()
    others = [_embed(queue, model, "background", background=True), _embed(queue, model, "question")]
    model.let(5)
    for thread in (first, *others):
        thread.join()
    assert model.begun == ["batch", "question", "batch", "batch", "background"]


def test_nobody_waits_for_ever(model, monkeypatch):
    monkeypatch.setattr(scheduling, "PATIENCE_SECONDS", 0)
    queue = EmbeddingQueue(1)
    threads = [_embed(queue, model, *["batch"] * 4)]
    model.wait_begun()
    threads.append(_embed(queue, model, *["background"] * 2, background=True))
    model.let(6)
    for thread in threads:
        thread.join()
    assert model.begun == ["batch", "batch", "background", "batch", "background", "batch"]


def test_all_threads_begin_at_once_with_texts_that_are_several_runs(model):
    queue = EmbeddingQueue(2)
    model.let(2)
    assert queue.embed(model, ["first", "second"])[:, 0].tolist() == [5.0, 6.0]
    while len(queue._changed._waiters) < 2:
        time.sleep(0.001)
    batch = _embed(queue, model, "batch", "batch")
    for _ in range(4):
        model.wait_begun()
    model.let(2)
    batch.join()


def test_the_background_has_one_thread(model):
    queue = EmbeddingQueue(2)
    background = _embed(queue, model, "background", "background", background=True)
    model.wait_begun()
    question = _embed(queue, model, "question")
    model.wait_begun()
    assert model.begun == ["background", "question"]
    model.let(3)
    for thread in (background, question):
        thread.join()
    assert model.begun == ["background", "question", "background"]


def test_a_text_that_fails_fails_its_caller_only(model):
    queue = EmbeddingQueue(1)
    model.let(9)
    with pytest.raises(ValueError, match="cannot be embedded"):
        queue.embed(model, ["good", "bad"])
    assert queue.embed(model, ["good", "better"])[:, 0].tolist() == [4.0, 6.0]
    assert queue.embed(model, []).shape == (0, 384)
    assert queue._requests == []


def test_questions_that_wait_go_together_and_a_bad_one_fails_alone(model):
    queue = EmbeddingQueue(2)
    answers: dict[str, object] = {}

    def ask(text: str) -> None:
        try:
            answers[text] = queue.embed(model, [text])[0, 0]
        except ValueError as error:
            answers[text] = str(error)

    threads = [threading.Thread(target=ask, args=("first",))]
    threads[0].start()
    model.wait_begun()
    long = "a text that is too long to go with others" * 10
    for text in ("good", "bad", "better", long):
        threads.append(threading.Thread(target=ask, args=(text,)))
        threads[-1].start()
        while len(queue._requests) < len(threads):
            time.sleep(0.001)
    model.wait_begun()
    assert model.begun == ["first", long]
    model.let(6)
    for thread in threads:
        thread.join()
    assert model.begun[2:] == ["good + bad + better", "good", "bad", "better"]
    assert answers == {
        "first": 5.0, "good": 4.0, "bad": "this text cannot be embedded", "better": 6.0, long: float(len(long))
    }  # fmt: skip
