"""Collects the marked words of the console into locale/zh_Hans/LC_MESSAGES/django.po and keeps what is translated.

Needs xgettext and msgmerge (apt-get install gettext), as Django's own command does. What is gone from the code goes
from the catalogue; nothing is guessed (no fuzzy entries). Places are left out, so that a change shows words only.
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
    """Django's command, which by itself gives a new word the translation of one that looks like it."""

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
