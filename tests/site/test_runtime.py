"""How processes of one data folder find each other."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from memos_site import runtime

URLS = {"DATABASE_URL": "postgresql://x", "REDIS_URL": "unix://y"}


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
