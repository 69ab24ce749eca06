"""The settings of MemOS, with the routes of `tests.site.echo`, and less time for a request to arrive."""

import os

from memos_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.site.echo"
MEMOS_RECEIVE_SECONDS = int(os.environ.get("ECHO_RECEIVE_SECONDS", "30"))
