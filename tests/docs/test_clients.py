"""Runs the guides to clients in environments that their own install lines make.

`make clients` runs them, and writes the versions that ran into docs/guides/clients.md and its translation. Other runs
compare that table with the guides.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, ROOT, blocks
from tests.sdk.conftest import EXTRAS, SILENT

GUIDES = DOCS / "guides"
TABLES = (GUIDES / "clients.md", GUIDES / "clients.zh.md")
SECONDS = 900
_INSTALL = re.compile(r"\b(pip|npm) install (?!-r)([^`\n]+)")
_ROW = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
_VERSIONS = """
import sys
from importlib.metadata import version
print(", ".join(f"{name} {version(name)}" for name in sys.argv[1:]))
"""
_LANGUAGES = {"pip": "python", "npm": "js"}
# A page may also show programs that do not use the package; other tests run those.
_IMPORTED = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
_MODULES = """
import sys
from importlib.metadata import packages_distributions
print(*(name for name, owners in packages_distributions().items() if set(owners) & set(sys.argv[1:])))
"""


@dataclass(frozen=True)
class Guide:
    """One install line of a page and the programs in its language, each with its output."""

    page: Path
    tool: str
    arguments: str
    programs: tuple[tuple[str, str], ...]

    @property
    def link(self) -> str:
        return self.page.relative_to(GUIDES).as_posix()

    @property
    def line(self) -> str:
        return f"{self.tool} install {self.arguments}"

    def list_packages(self) -> list[str]:
        """List the packages that the line installs, including the frameworks of an extra of the Python client."""
        names = []
        for argument in shlex.split(self.arguments):
            extra = re.fullmatch(r"\./sdk/python(?:\[([\w-]+)\])?", argument)
            wanted = ["memos-client", *(EXTRAS[extra[1]] if extra[1] else ())] if extra else [argument]
            names += [re.split(r"[\[<>=@]", name)[0] for name in wanted]
        return list(dict.fromkeys(names))


def list_guides() -> list[Guide]:
    found = []
    for page in sorted(GUIDES.rglob("*.md")):
        if page.name.endswith(".zh.md") or page in TABLES:
            continue
        text = page.read_text("utf-8")
        pairs = list(pairwise(blocks(text)))
        for tool, arguments in _INSTALL.findall(text):
            programs = tuple(
                (program.text, shown.text)
                for program, shown in pairs
                if program.language == _LANGUAGES[tool] and shown.language == "text"
            )
            if programs:
                found.append(Guide(page, tool, arguments, programs))
    return found


def read_rows(page: Path) -> dict[tuple[str, str], str]:
    """Read a table's versions by link and install line."""
    return {(link, line): versions for link, line, versions in _ROW.findall(page.read_text("utf-8"))}


def write_row(guide: Guide, versions: str) -> None:
    known = {(one.link, one.line) for one in list_guides()}
    for page in TABLES:
        rows = {**read_rows(page), (guide.link, guide.line): versions}
        lines = [
            f"| [{Path(link).stem}]({link}) | `{line}` | {said} |"
            for (link, line), said in sorted(rows.items())
            if (link, line) in known
        ]
        kept = [line for line in page.read_text("utf-8").split("\n") if not _ROW.match(line)]
        head = next(number for number, line in enumerate(kept) if line.startswith("|---")) + 1
        page.write_text("\n".join([*kept[:head], *lines, *kept[head:]]), encoding="utf-8")


def run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(guide: Guide, folder: Path) -> tuple[list[str], str]:
    """Make the environment by the guide's line; return the command for its programs, and its versions."""
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
        # A package may print warnings before the output.
        assert printed.endswith(shown), printed
    write_row(guide, versions)


def test_the_table_has_only_lines_that_guides_show_and_is_the_same_in_both_languages():
    rows = read_rows(TABLES[0])

    assert rows
    assert rows.keys() <= {(guide.link, guide.line) for guide in list_guides()}
    assert rows == read_rows(TABLES[1])
