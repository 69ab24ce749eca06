"""The page about reading files shows the output of its command, and names every possible reason."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from memory.enums import FileRefusal
from tests.docs.pages import DOCS, blocks
from tests.parsers import made_files

PAGE = (DOCS / "guides" / "read-files.md").read_text("utf-8")
# Reasons that the page explains elsewhere, or whose words explain themselves.
ELSEWHERE = {"unsupported", "mislabelled", "gate", "refused", "parser_missing", "ocr_missing"}


@pytest.mark.django_db
def test_the_command_does_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "handbook.pdf").write_bytes(made_files.pdf(4))
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(PAGE) if block.language == "sh" for line in block.text.splitlines()]
    [command] = [line.removeprefix("manage.py ") for line in lines if line.startswith("manage.py ")]
    shown = next(block.text for block in blocks(PAGE) if block.language == "text")
    out = StringIO()
    call_command(*shlex.split(command), stdout=out)

    assert _leave_out_figures(out.getvalue()) == _leave_out_figures(shown)


def _leave_out_figures(text: str) -> str:
    """Remove the version, which depends on the page's earlier requests, and the seconds, which vary by machine."""
    return re.sub(r"version \d+|in [\d.]+ s", "", text)


def test_every_reason_is_explained() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))

    assert set(FileRefusal.values) - ELSEWHERE <= named
