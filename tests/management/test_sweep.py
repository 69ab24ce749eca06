"""manage.py sweep."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.models import Memory, UpkeepMark
from memory.services.diagnosis import diagnose
from memory.services.ingestion.ingest import ingest_batch
from memory.services.retention.sweep import SWEEP
from memory.types import NewMemory


def sweep(*arguments: str) -> str:
    out = StringIO()
    call_command("sweep", *arguments, stdout=out)
    return out.getvalue()


def finding():
    [found] = [one for one in diagnose(schedules=[], now=timezone.now()) if one.name == "sweep"]
    return found


@pytest.fixture
def _old_talk(alice):
    items = [(alice.scope, NewMemory(session="s1", role="user", text="Thanks!"))]
    ingest_batch(items, now=timezone.now() - timedelta(days=100))


@pytest.mark.usefixtures("_old_talk")
def test_a_dry_run_says_what_it_would_do_and_does_nothing():
    out = sweep("--dry-run")

    assert "alice: 1 decayed and 0 expired memories would be archived" in out
    assert Memory.objects.across_namespaces().active().count() == 1


@pytest.mark.usefixtures("_old_talk")
def test_it_archives_and_says_what():
    assert finding().what == "none yet"
    assert "together: 1 decayed and 0 expired memories were archived" in sweep()
    assert Memory.objects.across_namespaces().active().count() == 0
    assert finding().what.startswith("last at ")


@pytest.mark.usefixtures("_old_talk")
def test_a_clock_that_has_jumped_stops_it_until_somebody_says_it_is_right():
    UpkeepMark.objects.create(name=SWEEP, trusted_at=timezone.now() - timedelta(days=9))

    with pytest.raises(CommandError, match=r"the clock went on from .* --accept-clock"):
        sweep()
    assert (finding().status, "--accept-clock" in finding().fix) == ("warn", True)
    assert Memory.objects.across_namespaces().active().count() == 1
    assert "1 decayed" in sweep("--accept-clock")
    assert finding().status == "ok"


@pytest.mark.usefixtures("_old_talk")
def test_a_clock_that_went_back_stops_it_too():
    UpkeepMark.objects.create(name=SWEEP, trusted_at=timezone.now() + timedelta(hours=2))

    with pytest.raises(CommandError, match="the clock went back"):
        sweep()
