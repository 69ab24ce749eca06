"""The install lines of the guides, each with the programs that its packages run."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import DOCS, anchors, blocks
from tests.sdk.conftest import EXTRAS

GUIDES = DOCS / "guides"
_INSTALL = re.compile(r"\b(pip|npm) install (?!-r)([^`\n]+)")
_LANGUAGES = {"pip": "python", "npm": "js"}
_EXTRA = re.compile(r"\./sdk/python(?:\[([\w-]+)\])?")


@dataclass(frozen=True)
class Guide:
    """An install line of a page, and the programs of its language up to the next one, each with its output."""

    page: Path
    section: str
    tool: str
    arguments: str
    programs: tuple[tuple[str, str], ...]

    @property
    def link(self) -> str:
        """The page from the folder of guides, with the anchor of the section if the line stands in one."""
        [anchor] = anchors(f"## {self.section}") if self.section else [""]
        return self.page.relative_to(GUIDES).as_posix() + (f"#{anchor}" if anchor else "")

    @property
    def line(self) -> str:
        return f"{self.tool} install {self.arguments}"

    @property
    def extra(self) -> str | None:
        """The extra of the Python client that the line installs."""
        found = _EXTRA.search(self.arguments)
        return found and found[1]

    def list_packages(self) -> list[str]:
        """Names what the line installs; of the client for Python, the frameworks of the extra as well."""
        names = []
        for argument in shlex.split(self.arguments):
            extra = _EXTRA.fullmatch(argument)
            wanted = ["memos-client", *(EXTRAS[extra[1]] if extra[1] else ())] if extra else [argument]
            names += [re.split(r"[\[<>=@]", name)[0] for name in wanted]
        return list(dict.fromkeys(names))


def list_guides() -> list[Guide]:
    found = []
    for page in sorted(GUIDES.glob("*.md")):
        if page.name.endswith(".zh.md"):
            continue
        text = page.read_text("utf-8")
        lines = list(_INSTALL.finditer(text))
        pairs = [(program, shown) for program, shown in pairwise(blocks(text)) if "\n## " not in shown.before]
        for line in lines:
            tool, arguments = line.groups()
            later = (other.start() for other in lines if other[1] == tool and other.start() > line.start())
            span = range(line.start(), next(later, len(text)))
            programs = tuple(
                (program.text, shown.text)
                for program, shown in pairs
                if program.language == _LANGUAGES[tool]
                and shown.language == "text"
                and text.index(program.text) in span
            )
            sections = re.findall(r"^## (.+)$", text[: line.start()], re.MULTILINE)
            if programs:
                found.append(Guide(page, sections[-1] if sections else "", tool, arguments, programs))
    return found
