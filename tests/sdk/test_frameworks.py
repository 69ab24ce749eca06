"""The adapters with the real frameworks, in a separate environment, against a MemOS server."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks, name_of
from tests.sdk.conftest import EXTRAS, PROGRAMS

PAGES = DOCS / "guides" / "frameworks"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("use_*.py")), ids=lambda path: path.stem)
def test_a_framework_with_its_adapter(run_framework: Callable[[str], str], program: Path):
    run_framework(program.read_text("utf-8"))


@pytest.mark.parametrize("page", [PAGES / f"{extra}.md" for extra in EXTRAS], ids=name_of)
def test_the_programs_of_its_guide_print_what_the_guide_shows(run_framework: Callable[[str], str], page: Path):
    found = blocks(page.read_text("utf-8"))
    programs = [(one, shown) for one, shown in pairwise(found) if one.language == "python"]

    assert programs
    for program, shown in programs:
        assert shown.language == "text"
        assert run_framework(program.text) == shown.text
