"""The embedding server, as a separate process with the real weights."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from django.test import override_settings

from memory.errors import EmbeddingUnavailable
from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding
from memory.providers.embedding.registry import provider_for
from memory.providers.minilm import client as client_module
from memory.providers.minilm.client import EmbeddingClient, EmbeddingServerAway
from memory.providers.minilm.messages import MAX_BYTES, receive
from memory.providers.minilm.weights import HIDDEN

TEXTS = ["I moved to Lisbon in March.", "The invoice of May was paid twice by mistake.", "你什么时候搬到里斯本的？"]
LONG = " ".join(["a sentence that goes on about the weather in the mountains of the north"] * 40)


class ServerProcess:
    """The embedding process that is tested."""

    def __init__(self, path: Path, model_dir: Path) -> None:
        self.path = path
        self._model_dir = model_dir
        self.start()

    def start(self, niceness: int = 0) -> None:
        command = [sys.executable, "-m", "memory.providers.minilm.server", str(self.path)]
        self._process = subprocess.Popen([*command, "--model-dir", str(self._model_dir), "--threads", "1"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def server(tmp_path: Path, model_dir: Path) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path / "embedding.sock", model_dir)
    yield started
    started.kill()


@pytest.fixture
def client(server: ServerProcess) -> EmbeddingClient:
    return EmbeddingClient(server.path, "int8", HIDDEN)


def test_it_gives_the_vectors_that_the_model_gives_in_this_process(server, model_dir):
    here = MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=2)
    there = MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=2, socket=server.path)
    texts = [f"{text} {number}" for number in range(120) for text in TEXTS]
    assert np.allclose(there.embed(texts), here.embed(texts), atol=1e-6)
    asked = [there.as_questions(TEXTS, there.embed(TEXTS)), here.as_questions(TEXTS, here.embed(TEXTS))]
    assert np.allclose(*asked, atol=1e-6)
    assert there.familiarity(TEXTS[2]) == here.familiarity(TEXTS[2])
    assert there.embed([]).shape == (0, 384)


def test_the_settings_choose_it(server, model_dir):
    with override_settings(
        MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_MODEL_DIR=model_dir, MEMOS_EMBEDDING_SOCKET=str(server.path)
    ):
        assert provider_for("minilm", DEFAULT_MODEL).embed(["hello"]).shape == (1, 384)
        server.kill()
        server.path.unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client_module, "RESTART_SECONDS", 0.1)
            with pytest.raises(EmbeddingUnavailable, match=r"does not answer at .*embedding\.sock"):
                provider_for("minilm", DEFAULT_MODEL).embed(["hello"])


def test_a_client_waits_for_a_process_that_was_killed_and_starts_again(server, client):
    before = client.embed(TEXTS)
    server.kill()
    restart = threading.Timer(0.3, server.start)
    restart.start()
    assert np.allclose(client.embed(TEXTS), before, atol=1e-6)
    restart.join()


def test_a_process_killed_at_work_gives_its_caller_the_vectors_of_the_next(server, client):
    client.embed(["loaded"])
    found: list[np.ndarray] = []
    caller = threading.Thread(target=lambda: found.append(client.embed([LONG] * 100)))
    caller.start()
    time.sleep(0.3)
    server.kill()
    server.start()
    caller.join()
    assert found[0].shape == (100, 384)
    assert np.allclose(np.linalg.norm(found[0], axis=1), 1, atol=1e-5)


def test_a_text_that_no_message_can_have_fails_where_its_vectors_are_wanted(server, client):
    pending = client.start(["half of a character: \ud83d"])
    for _ in range(2):
        with pytest.raises(TypeError, match="UTF-8"):
            pending.result()
    # The text that cannot be sent left nothing on the connection.
    assert client.start(TEXTS).result().shape == (3, 384)
    assert client.embed(TEXTS).shape == (3, 384)


def test_a_question_does_not_wait_for_a_batch(server, client):
    client.embed(["loaded"])
    ended: list[str] = []

    def embed(name: str, texts: list[str]) -> None:
        client.embed(texts)
        ended.append(name)

    batch = threading.Thread(target=embed, args=("batch", [LONG] * 128))
    batch.start()
    time.sleep(0.2)
    for _ in range(3):
        embed("question", ["What did Ann say about the train?"])
    batch.join()
    assert ended == ["question", "question", "question", "batch"]


def test_a_caller_that_does_not_read_and_one_that_sends_rubbish_harm_nobody(server, client):
    client.embed(["loaded"])
    with socket.socket(socket.AF_UNIX) as half, socket.socket(socket.AF_UNIX) as rubbish:
        half.connect(str(server.path))
        half.sendall(b"\0\0\1\0begun")
        rubbish.connect(str(server.path))
        rubbish.sendall((MAX_BYTES + 1).to_bytes(4, "big") + b"?")
        assert client.embed(TEXTS).shape == (3, 384)
        with contextlib.suppress(ConnectionResetError):
            assert receive(rubbish) is None


def test_a_process_that_stands_still_is_unavailability(server, client, monkeypatch):
    client.embed(["loaded"])
    monkeypatch.setattr(client_module, "ANSWER_SECONDS", 0.2)
    stuck = EmbeddingClient(server.path, "int8", HIDDEN)
    server.signal(signal.SIGSTOP)
    try:
        with pytest.raises(EmbeddingServerAway, match="did not answer within"):
            stuck.embed(TEXTS)
    finally:
        server.signal(signal.SIGCONT)
    assert client.embed(TEXTS).shape == (3, 384)


def test_texts_are_embedded_while_the_caller_goes_on(server, client):
    alone = client.embed(TEXTS)
    first = client.start(TEXTS[:1])
    # The connection has an answer that was not read yet.
    assert np.allclose(client.embed(TEXTS[1:]), alone[1:], atol=1e-6)
    client.start(["nobody wants to know"])
    second = client.start(TEXTS[2:])
    assert np.allclose(first.result(), alone[:1], atol=1e-6)
    found: list[np.ndarray] = []
    other = threading.Thread(target=lambda: found.append(second.result()))
    other.start()
    other.join()
    assert np.allclose(second.result(), alone[2:], atol=1e-6)
    assert np.array_equal(found[0], second.result())


def test_texts_that_a_killed_process_had_are_embedded_by_the_next(server, client):
    alone = client.embed(TEXTS)
    server.signal(signal.SIGSTOP)
    pending = client.start(TEXTS)
    server.kill()
    server.start()
    assert np.allclose(pending.result(), alone, atol=1e-6)
    assert np.allclose(client.start(TEXTS).result(), alone, atol=1e-6)


def test_texts_are_sent_when_nobody_answers_yet(server, client):
    alone = client.embed(TEXTS)
    server.kill()
    pending = client.start(TEXTS)
    server.start()
    assert np.allclose(pending.result(), alone, atol=1e-6)


def test_what_is_pending_says_that_nobody_answers(server, model_dir, monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_SECONDS", 0.2)
    there = MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=1, socket=server.path)
    for _ in range(50):
        with contextlib.suppress(EmbeddingUnavailable):
            there.embed(["loaded"])
            break
    server.signal(signal.SIGSTOP)
    pending = there.start(TEXTS)
    assert pending is not None
    with pytest.raises(EmbeddingUnavailable, match="did not answer within"):
        pending.result()


def test_a_connection_is_not_shared_with_a_fork(client):
    before = client.embed(TEXTS)
    child = os.fork()
    if not child:
        same = np.allclose(client.embed(TEXTS[:1]), before[:1], atol=1e-6)
        os._exit(0 if same else 1)
    again = client.embed(TEXTS)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert np.allclose(again, before, atol=1e-6)


def test_what_is_wrong_there_is_told_here(server):
    with pytest.raises(EmbeddingUnavailable, match="unknown MiniLM model"):
        MiniLMEmbedding("all-MiniLM-L6-v2-int3", model_dir=server.path.parent, threads=1, socket=server.path)
    with pytest.raises(client_module.WeightsError, match="unknown precision 'int3'"):
        EmbeddingClient(server.path, "int3", HIDDEN).embed(["hello"])


def test_it_loads_no_django(tmp_path):
    program = (
        "import sys, memory.providers.minilm.server; print(any(name.split('.')[0] == 'django' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_what_makes_the_graph_ends(tmp_path):
    server = ServerProcess(tmp_path / "embedding.sock", tmp_path / "models")
    try:
        EmbeddingClient(server.path, "int8", HIDDEN).embed(["hello"])
        mapped = Path(f"/proc/{server.pid}/maps").read_text("utf-8", "surrogateescape")
    finally:
        server.kill()
    assert "/onnxruntime/" in mapped
    assert "/onnx/" not in mapped
