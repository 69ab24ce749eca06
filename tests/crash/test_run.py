"""`make run`: first start, restart, two servers side by side, Ctrl-C, kill -9 of the supervisor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.crash.server import ROOT, Server, wait_for


def left_behind(folder: Path) -> list[str]:
    """List the processes that still work for `folder`."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "environ"]):
        environ = process.info["environ"] or {}
        about = " ".join(process.info["cmdline"] or []) + str(process.info["cwd"]) + environ.get("MEMOS_DATA_DIR", "")
        if str(folder) in about and process.pid != psutil.Process().pid:
            found.append(about)
    return found


def test_a_first_start_shows_login_and_key_and_a_restart_keeps_the_data(tmp_path):
    server = Server(tmp_path / "data")
    printed = server.start()
    assert "login      admin / " in printed
    assert server.key.startswith("mos_")
    assert f"http://127.0.0.1:{server.port}/ops/" in printed
    answer = server.call("/v1/query", {"namespace": "demo", "session_id": "t", "query": "What did we decide?"})
    assert answer["raw_chunks"], "the demo namespace is filled"
    kept = server.call(
        "/v1/ingest",
        {"namespace": "mine", "session_id": "s", "role": "user", "text": "The spare key hangs in the shed."},
    )["memory_id"]

    # A second server needs another folder and port.
    beside = Server(tmp_path / "other", MEMOS_DEMO="0")
    assert '"namespace": "demo"' not in beside.start()
    assert beside.call("/v1/ops/stats")["total_memories"] == 0
    assert beside.call("/v1/query", {"namespace": "demo", "query": "Tea?"})["degraded"] == ["namespace_unknown"]
    assert beside.stop() == 0

    same_folder = Server(tmp_path / "data")
    with pytest.raises(AssertionError, match="another MemOS already uses the data folder"):
        same_folder.start()
    same_port = Server(tmp_path / "third", MEMOS_PORT=str(server.port))
    with pytest.raises(AssertionError, match="cannot be used"):
        same_port.start()

    assert server.stop() == 0
    wait_for(lambda: not left_behind(tmp_path), what="nothing left behind", seconds=10)

    again = server.start()
    assert "mos_" not in again.replace("$MEMOS_API_KEY", "")
    found = server.call("/v1/query", {"namespace": "mine", "session_id": "s", "query": "Where is the spare key?"})
    assert [chunk["id"] for chunk in found["raw_chunks"]] == [kept]
    # The window survives too, because Valkey persists its data.
    assert [message["memory_id"] for message in found["context_pack"]["working_memory"]["l1_window"]] == [kept]

    server.supervisor.kill()
    server.supervisor.wait(10)
    wait_for(lambda: not left_behind(tmp_path), what="the children die with a supervisor killed by force", seconds=30)


def test_commands_start_what_they_need_and_stop_it(tmp_path):
    folder = tmp_path / "with a space"
    server = Server(folder)
    server.manage("bootstrap")
    token = server.manage("issue_api_key", "tester", "--namespace", "ns").strip().splitlines()[-1]

    assert token.startswith("mos_")
    assert " " not in token
    wait_for(lambda: not left_behind(folder), what="nothing left behind", seconds=10)


def test_without_debug_anonymous_access_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**Server(tmp_path).environment, "MEMOS_ANONYMOUS": "1", "MEMOS_SECRET_KEY": "x" * 60},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "MEMOS_ANONYMOUS=1" in done.stderr
    assert "MEMOS_DEBUG=1" in done.stderr
