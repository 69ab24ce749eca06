"""Collects the console's translatable texts into locale/zh_Hans/LC_MESSAGES/django.po and keeps existing translations.

It needs xgettext and msgmerge (apt-get install gettext), like Django's own command. Texts that are gone from the code
are removed from the catalogue, and none are guessed (no fuzzy entries). Locations are left out, so that a diff shows
texts only.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import ClassVar

import django
from django.core.management import call_command
from django.core.management.commands.makemessages import Command

ROOT = Path(__file__).resolve().parents[1]
IGNORED = ["tests", "bench", ".venv", "data", "tools"]


class Collect(Command):
    """Django's command without fuzzy matching, which would give a new text the translation of a similar one."""

    msgmerge_options: ClassVar[list[str]] = [*Command.msgmerge_options, "--no-fuzzy-matching"]


def main() -> int:
    if shutil.which("xgettext") is None:
        sys.exit("xgettext is not there: apt-get install gettext")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("MEMOS_SECRET_KEY", "collects-words-only")
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "memos_site.settings",
        "DATABASE_URL": "postgresql://nobody@localhost/nothing",
        "REDIS_URL": "redis://localhost:1/0",
    }

    django.setup()
    call_command(
        Collect(),
        locale=["zh_Hans"],
        ignore_patterns=IGNORED,
        no_location=True,
        no_obsolete=True,
        no_wrap=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
