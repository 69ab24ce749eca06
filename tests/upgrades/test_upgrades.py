"""The data of each released version, written by its own code (tools/dump_release.py), under the present code."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.core.management import call_command

from tools.dump_release import PEPPERED_BY

ROOT = Path(__file__).resolve().parents[2]
RELEASES = sorted(Path(__file__).parent.glob("*.sql"))
# Two processes, as when a server is started and started again; the second one runs the other requests.
COMMAND = """
import django; django.setup()
from memory.postgresql import reach; reach.open_process()
import io, json, time
from django.core.management import call_command
def said(name, **options):
    out = io.StringIO()
    try:
        call_command(name, stdout=out, stderr=out, **options)
        return [0, out.getvalue()]
    except SystemExit as ended:
        return [ended.code, out.getvalue()]
"""
START = (
    COMMAND
    + """
print("LOOKED", json.dumps([said("migrate", interactive=False), said("bootstrap")]))
"""
)
LOOK = (
    COMMAND
    + """
again = said("bootstrap")
from django.contrib.auth import authenticate
from django.utils import timezone
from memory.api.authentication import access_of
from memory.models import AuditLog, Erasure, Memory, MemoryVersion, QuarantinedItem
from memory.services.audit import chain, verify
from memory.services.ingestion.ingest import ingest_batch
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from memory.services.tenancy.namespaces import scope_of_existing
from memory.types import NewMemory, system_access
now = timezone.now()
scope = scope_of_existing("released", actor="test")
before = verify.verify()
answer = query(scope, Ask("When does the ferry to Harwich leave?", 3, now), session="voyage")
[new] = ingest_batch([(scope, NewMemory("voyage", "user", "The ferry to Oslo leaves at noon."))], now=now).memory_ids
after = before
# What another transaction of the server may still come before is sealed later.
for _ in range(100):
    chain.seal(now=timezone.now())
    after = verify.verify()
    if after.events > before.events:
        break
    time.sleep(0.3)
found = query(scope, Ask("When does the ferry to Oslo leave?", 3, timezone.now()), session="voyage")
texts = lambda one: [chunk["text"] for chunk in one.pack["retrieval"]["raw_chunks"]]
edits = AuditLog.objects.in_scope(scope).filter(event_type="MEMORY_EDIT")
print("LOOKED", json.dumps({
    "memories": Memory.objects.in_scope(scope).exclude(pk=new).count(),
    "versions": MemoryVersion.objects.in_scope(scope).count(),
    "quarantined": QuarantinedItem.objects.in_scope(scope).count(),
    "erasures": list(Erasure.objects.in_scope(scope).values_list("status", flat=True)),
    "reasons": sorted(one.details["reason"] for one in edits),
    "asked": texts(answer), "asked_of_new": texts(found),
    "chain": [before.faults == [], before.events, after.faults == [], after.events],
    "namespaces": sorted(access_of(TOKEN).namespace_ids) == [scope.namespace_id],
    "login": authenticate(None, username="released", password="a released password") is not None,
    "again": again, "verify_audit": said("verify_audit"), "doctor": said("doctor"),
}))
"""
)


@pytest.fixture(params=RELEASES, ids=[path.stem for path in RELEASES])
def released(request, tmp_path) -> Iterator[tuple[dict[str, str], str]]:
    """Return the environment of a server with the data of a release, and the token of its key."""
    sql = request.param.read_text(encoding="utf-8")
    [token] = re.findall(r"TOKEN (mos_\S+)", sql)
    server = urlsplit(os.environ["DATABASE_URL"])
    name = f"released_{uuid.uuid4().hex[:12]}"
    url = urlunsplit(server._replace(path=f"/{name}"))
    with psycopg.connect(urlunsplit(server._replace(path="/postgres")), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            with psycopg.connect(url) as restored:
                restored.execute(sql)
            kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMOS_")}
            yield (
                {
                    **kept,
                    "DATABASE_URL": url,
                    "MEMOS_SECRET_KEY": PEPPERED_BY,
                    "MEMOS_DATA_DIR": str(tmp_path),
                    "MEMOS_EMBEDDING_PROVIDER": "hash",
                    "MEMOS_EMBEDDING_MODEL": "hash-64",
                    "MEMOS_EMBEDDING_DIMENSIONS": "64",
                    "DJANGO_SETTINGS_MODULE": "memos_site.settings",
                },
                token,
            )
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def run(environment: dict[str, str], program: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(re.findall(r"^LOOKED (.*)$", done.stdout, re.MULTILINE)[0])


def file_vectors(url: str) -> None:
    """Add what a worker of the release leaves of a large namespace, and a job that waits."""
    with psycopg.connect(url) as connection:
        place = connection.execute(
            "SELECT n.id, m.id FROM memory_namespace n, memory_embeddingmodel m WHERE n.name = 'released'"
        ).fetchone()
        connection.execute(
            "INSERT INTO memory_vectormap (namespace_id, model_id, version) VALUES (%s, %s, gen_random_uuid())", place
        )
        connection.execute(
            "INSERT INTO memory_vectorcell VALUES (%s, %s, 7, 'c', 'packed', 5, 3, now())",
            place,
        )
        connection.execute(
            "INSERT INTO memory_job (id, namespace_id, kind, arguments, schedule, once, state, attempts, again,"
            " error_type, error, reason, queued_at, carrier)"
            " VALUES (gen_random_uuid(), 0, 'any', '[]', '', false, 'discarded', 0, false, '', '', '', now(), 41)"
        )


def check_lists(url: str) -> None:
    """Check that the job is there under its name of today, and that the lists of vectors are gone."""
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM memory_job WHERE kind = 'any'").fetchone() == (1,)
        former = connection.execute(
            "SELECT relname::text FROM pg_class WHERE relname ~ 'vector(map|cell)|ivf(index|list)'"
            " UNION ALL SELECT conname::text FROM pg_constraint WHERE conname ~ 'vector(map|cell)|ivf(index|list)'"
        ).fetchall()
        assert former == []


def test_there_is_a_file_for_each_released_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## \[?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)) <= {path.stem for path in RELEASES}
    assert RELEASES
    assert all(path.stat().st_size < 300_000 for path in RELEASES)


@pytest.mark.django_db
def test_the_models_say_nothing_that_no_migration_makes():
    out = io.StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=out)
    assert "No changes" in out.getvalue()


def test_its_data_start_under_the_present_code(released):
    environment, token = released
    file_vectors(environment["DATABASE_URL"])
    started = run(environment, START)
    assert [status for status, _ in started] == [0, 0], started
    check_lists(environment["DATABASE_URL"])
    found = run(environment, LOOK.replace("TOKEN)", f"{token!r})"))
    # A second start makes nothing and begins no new era.
    assert found["again"][0] == 0
    assert "shown once" not in found["again"][1]
    assert (found["memories"], found["versions"], found["quarantined"]) == (7, 0, 1)
    assert found["erasures"] == ["finished"]
    assert found["reasons"] == ["A decision."]
    assert any("leaves at ten now" in text for text in found["asked"])
    assert any("Oslo" in text for text in found["asked_of_new"])
    held, events, still, more = found["chain"]
    assert held
    assert still
    assert more > events > 10
    assert found["namespaces"]
    assert found["login"]
    assert found["verify_audit"][0] == 0
    assert "holds" in found["verify_audit"][1]
    failed = [line for line in found["doctor"][1].splitlines() if "fail" in line.lower().split()[:2]]
    # No worker runs in this test.
    assert not [line for line in failed if not re.search("worker|queue|schedule|job|clock", line)], found["doctor"]
