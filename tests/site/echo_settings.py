"""The settings of MemOS with the routes of `tests.site.echo`, and less time to send a request or read an answer."""

import os

from memos_site import gateway
from memos_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.site.echo"
gateway.SEND_SECONDS = 2
MEMOS_RECEIVE_SECONDS = int(os.environ.get("ECHO_RECEIVE_SECONDS", "30"))
