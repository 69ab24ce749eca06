"""Collects the marked words of the console into locale/zh_Hans/LC_MESSAGES/django.po and keeps what is translated.

Needs xgettext and msgmerge (apt-get install gettext), as Django's own command does. What is gone from the code goes
from the catalogue; nothing is guessed (no fuzzy entries). Places are left out, so that a change shows words only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    if shutil.which("xgettext") is None:
        sys.exit("xgettext is not there: apt-get install gettext")
    ignored = [word for folder in ("tests", "bench", ".venv", "data", "tools") for word in ("--ignore", folder)]
    command = [
        sys.executable,
        "manage.py",
        "makemessages",
        "--locale",
        "zh_Hans",
        "--no-location",
        "--no-obsolete",
        "--no-wrap",
    ]
    environment = {
        "MEMOS_SECRET_KEY": "collects-words-only",
        **os.environ,
        "DATABASE_URL": "postgresql://nobody@localhost/nothing",
        "REDIS_URL": "redis://localhost:1/0",
    }
    return subprocess.run([*command, *ignored], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
