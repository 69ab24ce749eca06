"""Prints the OpenAPI document of MemOS's own routes, from which the clients' types are made (make client-types)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import django

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    django.setup()
    from memory.api.views.openapi import build_document  # noqa: PLC0415 - Django knows its settings now

    json.dump(build_document(), sys.stdout)


if __name__ == "__main__":
    main()
