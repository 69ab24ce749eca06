"""The process that loads MemOS, as its parent sees it; the whole of it runs in tests/crash."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memos_site.application import Application
from memos_site.embedded import EmbeddedError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "MEMOS_DATA_DIR": str(tmp_path),
        "MEMOS_SECRET_KEY": "only-for-tests-0123456789012345678901234567890123456789",
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }.items():
        monkeypatch.setenv(name, value)


def _start() -> Application:
    application = Application()
    application.start()
    return application


def test_who_supervises_does_not_load_django() -> None:
    program = "import sys, memos_site.run; print(any(name.split('.')[0] == 'django' for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_shared_has_no_libraries_that_few_servers_use() -> None:
    few = {"cryptography.hazmat.bindings", "httpx2", "jwt", "onnx", "onnxruntime", "openai", "segno", "tokenizers"}
    program = (
        "import sys, django; django.setup(); from memos_site.application import load; load(); "
        f"print(sorted(set(sys.modules) & {few}), 'django_redis.cache' in sys.modules)"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "memos_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] True\n"


def test_what_is_loaded_once_leaves_byte_code_for_all_processes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "byte code")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "memos_site.compile"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    compiled = {file.name.split(".")[0] for file in (tmp_path / "byte code").rglob("*.pyc")}
    assert {"tasks", "wsgi", "web_worker", "gthread", "cluster", "courier", "server", "run"} <= compiled


def test_a_port_that_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("MEMOS_PORT", str(port))
        with pytest.raises(EmbeddedError, match=rf"port {port} on 127\.0\.0\.1 cannot be used .* MEMOS_PORT=8001"):
            _start().read_settings()


def test_a_setting_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_PORT", "abc")
    with pytest.raises(EmbeddedError, match="MEMOS_PORT='abc' is not a whole number"):
        _start().read_settings()


def test_what_fails_otherwise_is_said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("MEMOS_PORT", str(port))
    application = _start()
    settings = application.read_settings()
    assert settings.address == f"http://127.0.0.1:{port}"
    assert settings.logging["version"] == 1
    with pytest.raises(EmbeddedError, match=r"failed \(exit status 1\); what it wrote is above"):
        application.begin()
    assert "OperationalError" in capfd.readouterr().err


@pytest.mark.parametrize(
    "before",
    [
        "",
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "file = open(sys.executable, 'rb'); kept = mmap.mmap(file.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ)",
    ],
    ids=["nothing", "a thread", "a shared file"],
)
def test_the_tokenizer_counts_on_when_its_pages_were_let_go_of(before: str) -> None:
    program = (
        f"import mmap, sys, threading\n{before}\nfrom memory.text.tokens import count_tokens\ncount_tokens('ready')\n"
        "from memos_site.application import _let_go_of_pages\n_let_go_of_pages('rs_bpe')\n"
        "print(count_tokens('words that nobody asked before: zinnober quagga', 'cl100k_base'))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 5
