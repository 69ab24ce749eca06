from __future__ import annotations

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.models import Erasure, Memory
from tests.job_queue import queued_jobs

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("erase", *arguments, "--reason", "test", stdout=out)
    return dict(json.loads(out.getvalue()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alice", "--whole-namespace"], "repeat its name with --confirm"),
        (["alice", "--whole-namespace", "--confirm", "Alice"], "repeat its name with --confirm"),
        (["nobody", "--session", "s1"], "There is no namespace 'nobody'"),
        (["alice"], "one of the arguments"),
        (["alice", "--session", "s1", "--speaker", "Ann"], "not allowed with"),
        (["alice", "--memory", "x"], "'x' is not the id of a memory"),
        (["alice", "--memories-file", "/nowhere/ids"], "cannot be read"),
    ],
)
def test_a_wrong_call_is_refused_in_words(alice, remember, arguments, message):
    remember(alice, "hello")

    with pytest.raises(CommandError, match=message):
        run(*arguments)

    assert Memory.objects.across_namespaces().count() == 1


def test_it_erases_at_once_and_prints_the_receipt(alice, remember):
    remember(alice, "hello")
    queued_jobs().delete()

    receipt = run("alice", "--session", "s1")

    assert (receipt["status"], receipt["found"], receipt["actor"]) == ("finished", 1, "command:erase")
    assert not Memory.objects.across_namespaces().exists()
    assert not queued_jobs().exists()


def test_ids_come_from_a_file(alice, remember, tmp_path):
    ids = [remember(alice, f"turn {number}") for number in range(3)]
    file = tmp_path / "ids"
    file.write_text(f"{ids[0]}\n\n {ids[1]} \n{uuid.uuid4()}\n")

    receipt = run("alice", "--memories-file", str(file))

    assert (receipt["named"], receipt["missing"], receipt["found"]) == (3, 1, 2)
    assert str(Memory.objects.across_namespaces().get().pk) == ids[2]
    file.write_text("one\n")
    with pytest.raises(CommandError, match="line 1: 'one' is not a UUID"):
        run("alice", "--memories-file", str(file))
    file.write_text("\n")
    with pytest.raises(CommandError, match="names no memory"):
        run("alice", "--memories-file", str(file))


def test_a_dry_run_only_counts(alice, remember):
    remember(alice, "hello")

    receipt = run("alice", "--whole-namespace", "--dry-run")

    assert (receipt["status"], receipt["found"]) == ("dry_run", 1)
    assert Memory.objects.across_namespaces().count() == 1
    assert not Erasure.objects.across_namespaces().exists()
