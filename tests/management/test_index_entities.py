"""`manage.py index_entities`: reads waiting memories, or a whole namespace again."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory.models import EntityMention


def run(**options) -> str:
    out = StringIO()
    call_command("index_entities", stdout=out, **options)
    return out.getvalue()


def test_a_namespace_that_is_not_there_is_refused(alice):
    with pytest.raises(CommandError, match="alice"):
        run(rebuild="nobody")


def test_it_reads_what_waits_and_with_rebuild_everything(alice, bob, remember):
    remember(alice, "Tom lives in Berlin.")
    remember(bob, "Tom lives in Paris.")

    assert run() == "2 memories were read.\n"
    assert run() == "0 memories were read.\n"
    assert run(rebuild="alice") == "1 memories were read.\n"
    assert EntityMention.objects.across_namespaces().count() == 4
