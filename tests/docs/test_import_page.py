"""The page about imports shows the output of its commands."""

from __future__ import annotations

import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from memory.models import Memory, MemoryImport, Upload
from memory.services.imports import uploads
from tests.docs.pages import DOCS, blocks
from tests.services.imports.exports import archive, chatgpt

PAGE = DOCS / "guides" / "import.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "export.zip").write_bytes(archive({"conversations.json": [chatgpt()]}))
    (tmp_path / "memories.txt").write_text("[2026-05-08] - I take the train to Lyon.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.django_db
def test_the_commands_do_what_the_page_says(folder: Path) -> None:
    shown = blocks(PAGE.read_text("utf-8"))
    lines = [line for block in shown if block.language == "sh" for line in block.text.splitlines()]
    commands = [shlex.split(line.removeprefix("manage.py ")) for line in lines if line.startswith("manage.py ")]
    printed = [run(command) for command in commands]

    assert len(commands) == 3
    assert printed[0] == next(block.text for block in shown if block.language == "text")
    assert sorted(Memory.objects.across_namespaces().values_list("namespace__name", "session", "speaker")) == [
        ("ada", "chatgpt/c1", ""),
        ("ada", "chatgpt/c1", "Ada"),
        ("ada", "chatgpt/c1", "Ada"),
        ("ada", "pasted/2026-05-08", ""),
    ]


@pytest.mark.django_db(transaction=True)
def test_the_program_of_the_page_uploads_a_file(folder: Path, live_server, make_tenant, monkeypatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", 1_024)
    monkeypatch.setattr(uploads, "_SLICE_BYTES", 256)
    monkeypatch.setenv("MEMOS_URL", live_server.url)
    monkeypatch.setenv("MEMOS_API_KEY", make_tenant("ada").token)
    for page in (PAGE, PAGE.with_name("import.zh.md")):
        shown = blocks(page.read_text("utf-8"))
        at = next(number for number, block in enumerate(shown) if block.language == "python")
        out = StringIO()
        with redirect_stdout(out):
            exec(shown[at].text, {})
        assert out.getvalue() == shown[at + 1].text

    assert set(MemoryImport.objects.across_namespaces().values_list("name", "speaker")) == {("export.zip", "Ada")}
    assert Upload.objects.across_namespaces().exclude(used_by=None).count() == 2


def run(command: list[str]) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue()
