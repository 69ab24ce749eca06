#!/usr/bin/env python
"""Django's command line. `manage.py help` lists the commands of MemOS under [memory]."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    from memos_site.embedded import with_servers  # noqa: PLC0415

    with with_servers(sys.argv):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
