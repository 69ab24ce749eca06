"""`python -m memos_site.compile` loads what the server's processes load, so that its byte code is kept, and ends."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import django

from memos_site.application import load

# What each process loads for itself.
OF_PROCESSES = (
    "django_q.cluster",
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gthread",
    "memory.providers.minilm.server",
    "memory.stores.session_cache",
    "memos_site.run",
    "memos_site.web_worker",
    "memos_site.worker",
    "onnxruntime",
    "tokenizers",
)


def main() -> int:
    """The exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    django.setup()
    load()
    for name in OF_PROCESSES:
        import_module(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
