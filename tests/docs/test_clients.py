"""Runs the guides about clients in environments that their own install lines make. `make clients` does it, and writes
which versions ran into docs/guides/frameworks.md and its twin; other runs compare that table with the guides."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.docs.install_lines import GUIDES, Guide, list_guides
from tests.docs.pages import ROOT
from tests.sdk.conftest import SILENT

TABLES = (GUIDES / "frameworks.md", GUIDES / "frameworks.zh.md")
SECONDS = 900
_ROW = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
_VERSIONS = """
import sys
from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in sys.argv[1:]))
"""
# A page may also show programs that do without the package: other tests run those.
_IMPORTED = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
_MODULES = """
import sys
from importlib.metadata import packages_distributions
print(*(name for name, owners in packages_distributions().items() if set(owners) & set(sys.argv[1:])))
"""


def read_rows(page: Path) -> dict[tuple[str, str], str]:
    """Reads the versions of a table, by link and install line."""
    return {(link, line): versions for link, line, versions in _ROW.findall(page.read_text("utf-8"))}


def write_row(guide: Guide, versions: str) -> None:
    known = {(one.link, one.line) for one in list_guides()}
    for page in TABLES:
        rows = {**read_rows(page), (guide.link, guide.line): versions}
        lines = [
            f"| [{name_of(link)}]({link}) | `{line}` | {said} |"
            for (link, line), said in sorted(rows.items())
            if (link, line) in known
        ]
        text = page.read_text("utf-8").split("\n")
        first = next(number for number, line in enumerate(text) if _ROW.match(line))
        kept = [line for line in text if not _ROW.match(line)]
        page.write_text("\n".join([*kept[:first], *lines, *kept[first:]]), encoding="utf-8")


def name_of(link: str) -> str:
    """The framework of a link to a section of the frameworks, else the page."""
    path, _, anchor = link.partition("#")
    return anchor if path == TABLES[0].name else Path(path).stem


def run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(guide: Guide, folder: Path) -> tuple[list[str], str]:
    """Makes the environment by the guide's line; returns how its programs are started, and what versions it has."""
    if guide.tool == "npm":
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n', encoding="utf-8")
        run(["npm", "install", "--no-audit", "--no-fund", *shlex.split(guide.arguments)], folder)
        found = [
            (name, json.loads((folder / "node_modules" / name / "package.json").read_text("utf-8"))["version"])
            for name in guide.list_packages()
        ]
        return ["node", "--input-type=module", "--eval"], ", ".join(f"{name} {version}" for name, version in found)
    run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    python = str(folder / "venv" / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", *shlex.split(guide.arguments)], ROOT)
    return [python, "-W", "ignore", "-c"], run([python, "-c", _VERSIONS, *guide.list_packages()], folder).strip()


@pytest.mark.skipif("MEMOS_CLIENTS" not in os.environ, reason="installs clients for minutes: make clients")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("guide", list_guides(), ids=lambda guide: f"{guide.tool} {guide.link}")
def test_the_programs_of_a_guide_run_where_its_own_line_installs_them(
    guide: Guide, live_server: Any, make_tenant: Any, tmp_path: Path
):
    everywhere = make_tenant("guides", all_namespaces=True)
    start, versions = install(guide, tmp_path)
    used = list(guide.programs)
    if guide.tool == "pip":
        modules = set(run([start[0], "-c", _MODULES, *guide.list_packages()], tmp_path).split())
        used = [(program, shown) for program, shown in used if modules & set(_IMPORTED.findall(program))]
        assert used
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "NO_PROXY": "127.0.0.1",
        "MEMOS_URL": live_server.url,
        "MEMOS_API_KEY": everywhere.token,
        "MEMOS_NAMESPACE": "ann",
        "MEM0_TELEMETRY": "false",
        **SILENT,
    }
    for program, shown in used:
        printed = run([*start, program.replace("http://127.0.0.1:8000", live_server.url)], tmp_path, environment)
        # A package may print warnings of its own before.
        assert printed.endswith(shown), printed
    write_row(guide, versions)


def test_the_table_has_only_lines_that_guides_show_and_is_the_same_in_both_languages():
    rows = read_rows(TABLES[0])

    assert rows
    assert rows.keys() <= {(guide.link, guide.line) for guide in list_guides()}
    assert rows == read_rows(TABLES[1])
