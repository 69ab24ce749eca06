"""The page about cubes as files shows the output of its commands."""

from __future__ import annotations

import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory.models import Memory
from memory.services.ingestion.ingest import ingest_batch
from memory.services.tenancy.namespaces import scope_for
from memory.types import NewMemory, system_access
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "guides" / "cube-files.md"


@pytest.mark.django_db
def test_the_commands_do_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope = scope_for(system_access("tests"), name="ada")
    turns = [NewMemory("s1", "user", text) for text in ("I keep bees in Porto.", "The hives stand in the garden.")]
    ingest_batch([(scope, turn) for turn in turns], now=timezone.now())
    shown = blocks(PAGE.read_text("utf-8"))
    lines = [line for block in shown if block.language == "sh" for line in block.text.splitlines()]
    commands = [shlex.split(line.removeprefix("manage.py ")) for line in lines if line.startswith("manage.py ")]
    printed = [run(command) for command in commands]

    assert [command[0] for command in commands] == ["dump_cube", "load_cube", "load_cube"]
    expected = next(block.text for block in shown if block.language == "text")
    assert [line.split(", ")[0] for line in printed[1].splitlines()] == [
        line.split(", ")[0] for line in expected.splitlines()
    ]
    assert Memory.objects.across_namespaces().filter(namespace__name="ben").count() == 2


def run(command: list[str]) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue()
