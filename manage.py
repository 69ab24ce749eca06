#!/usr/bin/env python
"""Django's command line. `manage.py help` lists the commands of MemOS under [memory]."""

import os
import sys

from memory.conf import ConfigurationError
from memos_site.embedded import EmbeddedError
from memos_site.servers import with_servers


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    from memory.postgresql import reach  # noqa: PLC0415 - Django knows its settings now
    from memos_site.migrated import refuse_unmigrated  # noqa: PLC0415

    reach.open_process()
    try:
        with with_servers(sys.argv), refuse_unmigrated():
            execute_from_command_line(sys.argv)
    except (ConfigurationError, EmbeddedError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
