"""The settings of MemOS, with the routes of `tests.site.echo`."""

from memos_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.site.echo"
