from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory.conf import Setting
from memos_site.settings import env

_BETWEEN = re.compile(r"(<!-- settings:begin -->\n).*?(<!-- settings:end -->)", re.DOTALL)


class Command(BaseCommand):
    help = "Writes the settings' descriptions into docs/reference/settings.md and .env.example; --check only compares."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail when a file is out of date, write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        base = Path(settings.BASE_DIR)
        page = base / "docs" / "reference" / "settings.md"
        wanted = {
            page: _BETWEEN.sub(lambda match: match[1] + markdown(env.declared) + match[2], page.read_text("utf-8")),
            base / ".env.example": dotenv(env.declared),
        }
        stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
        if options["check"]:
            if stale:
                names = ", ".join(path.name for path in stale)
                raise CommandError(f"{names} do not say what settings.py declares: run manage.py config_docs")
            return
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
            self.stdout.write(f"wrote {path.name}")


def markdown(declared: list[Setting]) -> str:
    """Returns the settings as Markdown, with a table for each section."""
    lines: list[str] = []
    for section, entries in groupby(declared, key=lambda setting: setting.section):
        lines += [f"**{section}**", "", "| variable | value | default | what it does |", "|---|---|---|---|"]
        for setting in entries:
            default = f"`{setting.default}`" if setting.default else "—"
            lines.append(f"| `{setting.name}` | {setting.kind} | {default} | {setting.help} |")
        lines.append("")
    return "\n".join(lines)


def dotenv(declared: list[Setting]) -> str:
    """Returns the settings as a commented environment file."""
    lines = [
        "# Every setting of MemOS, commented out. A secret NAME may also come from the file named by NAME_FILE.",
        "",
    ]
    for section, entries in groupby(declared, key=lambda setting: setting.section):
        lines += [f"# --- {section}", ""]
        for setting in entries:
            lines += [f"# {setting.help}", f"# {setting.name}={'' if setting.secret else setting.default}", ""]
    return "\n".join(lines)
