"""Runs the product's code on separate servers, for benchmarks that call it without HTTP."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.conf import ConfigurationError
from memos_site.embedded import EmbeddedError
from memos_site.servers import with_servers


@contextmanager
def product(folder: str = "memos-bench") -> Iterator[None]:
    """Sets Django up on migrated databases.

    Their data are in MEMOS_DATA_DIR, or in `folder` of the temporary files; servers that run on that data already are
    used. Ends the program with a message if none can be started.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    os.environ.setdefault("MEMOS_DATA_DIR", str(Path(tempfile.gettempdir()) / folder))
    try:
        with with_servers(["manage.py", "evaluate"]):
            import django  # noqa: PLC0415

            django.setup()
            from memory.postgresql import reach  # noqa: PLC0415

            reach.open_process()
            _migrate()
            yield
    except (ConfigurationError, EmbeddedError) as error:
        sys.exit(str(error))


def _migrate() -> None:
    from django.core.management import call_command  # noqa: PLC0415

    from memos_site.migrated import is_migrated  # noqa: PLC0415

    if not is_migrated():
        call_command("migrate", verbosity=0, interactive=False)
