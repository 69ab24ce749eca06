"""The adapters with the real frameworks, in a separate environment, against a MemOS server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.install_lines import Guide, list_guides
from tests.sdk.conftest import EXTRAS, PROGRAMS

# A section of docs/guides/frameworks.md each.
GUIDES = {guide.extra: guide for guide in list_guides() if guide.extra}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("use_*.py")), ids=lambda path: path.stem)
def test_a_framework_with_its_adapter(run_framework: Callable[[str], str], program: Path):
    run_framework(program.read_text("utf-8"))


def test_each_adapter_has_a_section():
    assert set(GUIDES) == set(EXTRAS)


@pytest.mark.parametrize("guide", GUIDES.values(), ids=list(GUIDES))
def test_the_programs_of_its_guide_print_what_the_guide_shows(run_framework: Callable[[str], str], guide: Guide):
    for program, shown in guide.programs:
        assert run_framework(program) == shown
