"""manage.py dump_cube and load_cube: a round trip through files on this machine."""

from __future__ import annotations

import os
import stat
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory.models import Memory, Namespace
from tests.services.cube_files.hostile import make, write


def run(*command: object, **options: object) -> str:
    out = StringIO()
    call_command(*(str(one) for one in command), stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


@pytest.mark.django_db
def test_what_cannot_be_done_is_said_and_leaves_nothing(alice, tmp_path):
    for command, says in (
        (["dump_cube", "nobody", tmp_path / "x"], "no namespace 'nobody'"),
        (["dump_cube"], "dump_cube NAMESPACE FILE"),
        (["dump_cube", "alice", tmp_path], "is there already"),
        (["dump_cube", "alice", tmp_path / "no" / "x"], "cannot be written"),
        (["load_cube", tmp_path / "x"], "cannot be read"),
        (["load_cube", write(tmp_path, make(signed=False))], "MEMOS_CUBE_TRUSTED_KEYS"),
    ):
        with pytest.raises(CommandError, match=says):
            run(*command)
    assert os.listdir(tmp_path) == ["cube"]
    assert not Namespace.objects.filter(name="elsewhere").exists()


@pytest.mark.django_db
def test_a_round_trip(alice, remember, tmp_path):
    for number in range(3):
        remember(alice, f"Tulip {number} is red.")
    path = tmp_path / "alice.memcube"

    assert "3 memories" in run("dump_cube", "alice", path, vectors=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = run("load_cube", path, "--namespace", "copy", "--dry-run")
    assert "memories: 3 new" in told
    assert "nothing was loaded" in told
    assert not Namespace.objects.filter(name="copy").exists()
    assert "memories: 3 new" in run("load_cube", path, "--namespace", "copy")
    assert Memory.objects.across_namespaces().filter(namespace__name="copy", embedded=True).count() == 3
    assert "memories: 3 present" in run("load_cube", path, "--namespace", "copy")
    assert "MEMOS_CUBE_SIGNING_KEY" in run("dump_cube", "--show-key")
