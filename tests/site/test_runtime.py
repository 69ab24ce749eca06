"""Processes of the same data folder find each other."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memos_site import runtime

URLS = {"DATABASE_URL": "postgresql://x", "REDIS_URL": "unix://y", "MEMOS_ADDRESS": "http://127.0.0.1:8001"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_an_empty_folder_implies_nothing(tmp_path):
    assert runtime.discover(tmp_path) == {}
    assert runtime.discover(tmp_path / "absent") == {}


def test_the_servers_of_a_living_process_are_found_until_it_removes_them(tmp_path):
    runtime.write_runtime(tmp_path, **URLS)
    assert runtime.discover(tmp_path) == URLS
    assert mode(tmp_path / "runtime.json") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["runtime.json"]

    runtime.remove_runtime(tmp_path)
    runtime.remove_runtime(tmp_path)
    assert runtime.discover(tmp_path) == {}


def test_the_servers_of_a_dead_process_are_not(tmp_path):
    runtime.write_runtime(tmp_path, **URLS)
    state = json.loads((tmp_path / "runtime.json").read_text(encoding="utf-8"))
    (tmp_path / "runtime.json").write_text(json.dumps(state | {"pid": dead_pid()}), encoding="utf-8")
    assert runtime.discover(tmp_path) == {}


def test_a_process_of_someone_else_counts_as_living(tmp_path, monkeypatch):
    def refused(pid: int, signal: int) -> None:
        raise PermissionError

    runtime.write_runtime(tmp_path, **URLS)
    monkeypatch.setattr(os, "kill", refused)
    assert runtime.discover(tmp_path) == URLS


def test_only_urls_that_are_there_are_implied(tmp_path):
    runtime.write_runtime(tmp_path, REDIS_URL="unix://y")
    assert runtime.discover(tmp_path) == {"REDIS_URL": "unix://y"}


def test_the_secret_key_is_made_once_for_its_owner_only(tmp_path):
    first = runtime.keep_secret_key(tmp_path)
    assert len(first) >= 50
    assert runtime.keep_secret_key(tmp_path) == first
    assert runtime.discover(tmp_path) == {"MEMOS_SECRET_KEY": first}
    assert mode(tmp_path / "secret_key") == 0o600


def test_two_folders_have_two_keys(tmp_path):
    (tmp_path / "other").mkdir()
    assert runtime.keep_secret_key(tmp_path) != runtime.keep_secret_key(tmp_path / "other")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8001"),
        ("0.0.0.0", "http://127.0.0.1:8001"),
        ("::", "http://127.0.0.1:8001"),
        ("::1", "http://[::1]:8001"),
        ("10.0.0.5", "http://10.0.0.5:8001"),
    ],
)
def test_the_local_address_is_one_that_can_be_reached(host, address):
    assert runtime.local_address(host, 8001) == address


def test_the_address_over_https_is_the_first_that_is_named():
    assert runtime.https_address(["http://a.example", "https://b.example"], ["c.example"]) == "https://b.example"
    assert runtime.https_address(["https://*.example"], ["*", ".d.example", "e.example"]) == "https://e.example"
    assert runtime.https_address([], ["*"]) is None


def test_a_command_learns_the_address_of_the_running_server(tmp_path):
    runtime.write_runtime(tmp_path, MEMOS_ADDRESS="http://127.0.0.1:8123")
    program = "from memos_site import settings; print(settings.MEMOS_ADDRESS)"

    def address(**more: str) -> str:
        environment = {"PATH": os.environ["PATH"], "MEMOS_SECRET_KEY": "x", **more}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    https = {"MEMOS_HTTPS": "1", "MEMOS_ALLOWED_HOSTS": "memos.example.com"}
    assert address(MEMOS_DATA_DIR=str(tmp_path), MEMOS_PORT="8009") == "http://127.0.0.1:8123"
    assert address(MEMOS_DATA_DIR=str(tmp_path / "none"), MEMOS_PORT="8009") == "http://127.0.0.1:8009"
    assert address(MEMOS_DATA_DIR=str(tmp_path / "none"), **https) == "https://memos.example.com"
