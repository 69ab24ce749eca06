"""The embedded servers, without starting PostgreSQL again: every test runs on a PostgreSQL that they started."""

from __future__ import annotations

import os
import socket
import stat

import pytest

from memos_site import embedded
from memos_site.embedded import EmbeddedError, EmbeddedServers, Valkey
from memos_site.servers import data_dir, with_servers


def servers(folder, *, redis: bool = False) -> EmbeddedServers:
    return EmbeddedServers(folder, database=False, redis=redis)


def test_a_folder_has_one_owner_at_a_time(tmp_path):
    first = servers(tmp_path)
    first.start()
    with pytest.raises(EmbeddedError, match=r"another MemOS already uses the data folder .* MEMOS_DATA_DIR"):
        servers(tmp_path).start()
    first.stop()
    again = servers(tmp_path)
    again.start()
    again.stop()


def test_valkey_starts_in_a_folder_with_spaces_answers_on_its_socket_only_and_stops(tmp_path):
    owner = servers(tmp_path / "data of Ann", redis=True)
    owner.start()
    try:
        valkey = owner.valkey
        assert owner.urls == {"REDIS_URL": valkey.url}
        assert valkey.is_running()
        assert stat.S_IMODE(valkey.socket_dir.stat().st_mode) == 0o700
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(valkey.socket_path))
            client.sendall(b"CONFIG GET port\r\n")
            assert client.recv(100) == b"*2\r\n$4\r\nport\r\n$1\r\n0\r\n"
    finally:
        owner.stop()
    assert not valkey.is_running()
    assert not valkey.socket_dir.exists()
    owner.stop()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(Valkey, "command", lambda self: ["sh", "-c", "echo no such option >&2; exit 3"])
    owner = servers(tmp_path, redis=True)
    with pytest.raises(EmbeddedError, match=r"valkey did not start; its log is .*valkey\.log:\nno such option"):
        owner.start()
    # The folder can be used again.
    again = servers(tmp_path)
    again.start()
    again.stop()


def test_socket_paths_are_short_however_deep_the_folder_is(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    assert len(str(EmbeddedServers(deep).postgres.socket_path)) < 100
    assert servers(deep, redis=True).valkey.socket_dir != servers(tmp_path, redis=True).valkey.socket_dir


def test_a_command_that_starts_servers_names_their_data_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMOS_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("REDIS_URL")
    with with_servers(["manage.py", "migrate"]):
        assert f"on the data folder {tmp_path.resolve()}" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["manage.py"], ["manage.py", "help"], ["manage.py", "migrate", "--help"]])
def test_commands_that_need_no_server_start_none(tmp_path, monkeypatch, argv):
    monkeypatch.setenv("MEMOS_DATA_DIR", str(tmp_path))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(embedded.EmbeddedServers, "start", lambda self: pytest.fail("started"))
    with with_servers(argv):
        pass


def test_a_command_uses_the_servers_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOS_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(embedded.EmbeddedServers, "start", lambda self: pytest.fail("started"))
    before = os.environ["DATABASE_URL"]
    with with_servers(["manage.py", "migrate"]):
        assert os.environ["DATABASE_URL"] == before


def test_the_data_folder_is_the_one_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOS_DATA_DIR", str(tmp_path / "x" / ".." / "data"))
    assert data_dir() == (tmp_path / "data").resolve()
    monkeypatch.delenv("MEMOS_DATA_DIR")
    assert data_dir().name == "data"
