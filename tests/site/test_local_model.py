"""The process of the provider `hf` starts when a request waits, and after a fault lets no request wait for it."""

from __future__ import annotations

import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memos_site.local_model import LocalModel, find_problem

# Answers one request on the socket that it receives, then ends.
ANSWERS = """
import socket, sys
caller, _ = socket.socket(fileno=int(sys.argv[3])).accept()
caller.recv(65536)
caller.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
"""
Make = Callable[[str], LocalModel]


@pytest.fixture
def make_model(tmp_path: Path) -> Iterator[Make]:
    """Return a function that makes a model whose Python is a program of these lines."""
    made: list[LocalModel] = []

    def make(lines: str) -> LocalModel:
        program = tmp_path / "python"
        program.write_text(f"#!{sys.executable}\n{lines}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        made.append(LocalModel(str(program), log_file=tmp_path / "log"))
        return made[-1]

    yield make
    for model in made:
        model.kill_rest()


def ask(model: LocalModel) -> bytes:
    """Send a request, and tend the model until it has answered or the connection is cut."""
    place = urlsplit(model.url)
    answered = threading.Event()
    said: list[bytes] = []

    def read() -> None:
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
            try:
                said.append(caller.recv(65536))
            except ConnectionResetError:
                said.append(b"")
        answered.set()

    thread = threading.Thread(target=read)
    thread.start()
    while not answered.wait(0.02):
        model.tend()
    thread.join()
    return said[0]


def test_it_starts_for_a_request_and_again_for_the_next(make_model, tmp_path):
    model = make_model(ANSWERS)
    model.tend()
    assert not (tmp_path / "log").exists()

    assert ask(model).endswith(b"hi")
    assert ask(model).endswith(b"hi")


def test_requests_do_not_wait_for_one_that_ends_by_a_fault(make_model, tmp_path):
    model = make_model("raise SystemExit('no memory')")

    assert ask(model) == b""
    assert ask(model) == b""
    assert b"no memory" in (tmp_path / "log").read_bytes()


def test_it_knows_nothing_of_the_servers_secrets(make_model, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOS_SECRET_KEY", "secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret@localhost/memos")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    model = make_model(f"import os\nopen({str(tmp_path / 'env')!r}, 'w').write(repr(dict(os.environ)))\n{ANSWERS}")
    ask(model)

    known = (tmp_path / "env").read_text()
    assert "secret" not in known
    assert "https://hub.example" in known
    assert repr(urlsplit(model.url).password) in known


def test_what_is_missing_is_named_with_its_remedy(tmp_path):
    assert "make install-hf" in find_problem(str(tmp_path / "nowhere"))
    said = find_problem(sys.executable)
    assert "torch" in said
    assert "make install-hf" in said
