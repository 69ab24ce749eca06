"""A load can create the namespace for a cube's file.

It stores the same as in an existing namespace, everything after a crash, each line once, and loses nothing that others
store there meanwhile.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory.errors import NamespaceGone
from memory.models import CubeFile, Job, Memory, Namespace
from memory.services.cube_files import load, local, requests, run
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.services.entities.extract import index_namespace
from memory.services.index.entries import count_searchable
from memory.services.index.recount import differences
from memory.services.ingestion.ingest import ingest_batch
from memory.services.preferences.read import read_session
from memory.services.tenancy.empty_namespace import remove_if_empty
from memory.services.tenancy.namespaces import scope_for
from memory.services.tenancy.policy import put_policy
from memory.types import NewMemory, Scope, system_access
from tests.services.cube_files.hostile import make, memory_line, write
from tests.services.cube_files.test_round_trip import NOW, all_lines, ask, fill
from tests.threads import together

ACCESS = system_access("tests")
QUESTIONS = ("Where does Maria live?", "Who keeps bees?", "Ana in Lisbon", "When is the honey taken?", "quiet places")
# Fields that differ between namespaces: ids, fields with ids, and times of storing.
_OWN = ("new_memory_ids", 
    "id", "memory_id", "other_id", "newer_id", "older_id", "superseded_by", "document_key", "by", "stated_in",
    "merged_into", "source_memory_ids", "item_sources",
)  # fmt: skip


@pytest.fixture
def everywhere(make_tenant):
    """Return a key that reaches every namespace, and so may create new ones."""
    return make_tenant("alice", scopes=("read", "write", "admin"), all_namespaces=True)


@pytest.fixture
def cube(alice, tmp_path) -> Path:
    fill(alice.scope)
    put_policy(alice.scope, wanted={"preferences": "rules"}, now=timezone.now())
    told = NewMemory("s0", "user", "I avoid lively places when I travel.", "Maria", {}, NOW + timedelta(hours=1))
    ingest_batch([(alice.scope, told)], now=NOW + timedelta(hours=1))
    read_session(alice.scope, session="s0", now=NOW + timedelta(hours=2))
    index_namespace(alice.scope, now=NOW + timedelta(hours=2))
    assert Memory.objects.in_scope(alice.scope).preferences().exists()
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(vectors=True), now=timezone.now())
    return path


def load_by_command(path: Path, namespace: str) -> None:
    call_command(
        "load_cube", str(path), "--namespace", namespace, "--policy", "--procedures", stdout=StringIO(),
        stderr=StringIO(),
    )  # fmt: skip


def send(tenant: Any, path: Path, namespace: str, **fields: str) -> dict[str, Any]:
    file = SimpleUploadedFile("alice.memcube", path.read_bytes())
    answer = tenant.client.post("/v1/cubes/load", {"namespace": namespace, "file": file, **fields})
    assert answer.status_code == 200, answer.content
    return answer.json()


def load_by_api(tenant: Any, path: Path, namespace: str) -> dict[str, Any]:
    sent = send(tenant, path, namespace, policy="true", procedures="true")
    work(namespace)
    return tenant.get(f"/v1/cubes/files/{sent['id']}").json()


def work(namespace: str, *, seconds: float = 600) -> int:
    """Carry the loads of the namespace out; return the number of runs."""
    runs = 0
    scope = scope_for(ACCESS, name=namespace)
    for row in CubeFile.objects.in_scope(scope).filter(finished_at=None):
        while row.finished_at is None:
            run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now, seconds=seconds)
            row.refresh_from_db()
            runs += 1
    return runs


def without_ids(value: Any) -> Any:
    """Return rows of a namespace without ids, so that they are equal in every namespace with the same memories."""
    if isinstance(value, dict):
        own = {name: without_ids(one) for name, one in value.items() if name not in _OWN}
        if str(own.get("session", "")).startswith("document:"):
            own["session"] = "document"
        return own
    return [without_ids(one) for one in value] if isinstance(value, list) else value


def describe(namespace: str) -> dict[str, Any]:
    """Return everything that a dump would contain of the namespace, and the results of searches."""
    scope = scope_for(ACCESS, name=namespace, create=False)
    # The file has no quarantine, which is dumped only on request.
    found: dict[str, Any] = {part: without_ids(own) for part, own in all_lines(scope).items() if part != "quarantine"}
    found["found"] = [ask(scope, question) for question in QUESTIONS]
    found["counts"] = count_searchable(scope.namespace_id)
    assert differences([scope.namespace_id]) == []
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["command", "api"])
def test_it_holds_what_one_that_was_there_does(everywhere, cube, way):
    if way == "command":
        load_by_command(cube, "fresh")
    else:
        report = load_by_api(everywhere, cube, "fresh")
        assert (report["state"], report["problem"], report["faults"]) == ("done", None, [])
        assert all(set(own) == {"new"} for own in report["counts"].values()), report["counts"]
    Namespace.objects.create(name="there")
    load_by_api(everywhere, cube, "there")

    original, fresh, there = describe("alice"), describe("fresh"), describe("there")
    for part, own in fresh.items():
        assert own, part
        assert own == there[part], part
        assert own == original[part], part


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["command", "api"])
def test_a_second_load_changes_nothing(everywhere, cube, way):
    for _ in range(2):
        if way == "command":
            load_by_command(cube, "fresh")
        else:
            report = load_by_api(everywhere, cube, "fresh")
    if way == "api":
        assert all(set(own) == {"present"} for own in report["counts"].values()), report["counts"]
    assert describe("fresh") == describe("alice")


@pytest.mark.django_db
def test_a_job_that_is_broken_off_goes_on_in_the_namespace_that_it_made(everywhere, cube, monkeypatch):
    monkeypatch.setattr(load, "BATCH", 4)
    send(everywhere, cube, "fresh", policy="true", procedures="true")

    assert work("fresh", seconds=0) > 8
    assert describe("fresh") == describe("alice")


class Killed(BaseException):
    """Ends the process in the middle of its work."""


@pytest.mark.django_db
@pytest.mark.parametrize("batches", range(0, 12, 3))
def test_a_command_that_is_killed_goes_on_when_it_is_run_again(everywhere, cube, monkeypatch, batches):
    monkeypatch.setattr(load, "BATCH", 4)
    whole, left = local.store_batch, [batches]

    def store(*arguments: Any, **options: Any) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        whole(*arguments, **options)

    monkeypatch.setattr(local, "store_batch", store)
    with pytest.raises(Killed):
        load_by_command(cube, "fresh")
    # Nothing was stored yet, so there is no namespace either.
    assert Namespace.objects.filter(name="fresh").exists() == (batches > 0)
    monkeypatch.setattr(local, "store_batch", whole)
    load_by_command(cube, "fresh")

    assert describe("fresh") == describe("alice")


@pytest.mark.django_db(transaction=True)
def test_what_others_say_in_it_meanwhile_stays(everywhere, cube, monkeypatch):
    """Another turn arrives between any two batches, in sessions of the file and in another one."""
    monkeypatch.setattr(load, "BATCH", 4)
    send(everywhere, cube, "fresh", policy="true", procedures="true")
    scope = scope_for(ACCESS, name="fresh")
    row = CubeFile.objects.in_scope(scope).get()
    said = []
    while row.finished_at is None:
        run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now, seconds=0)
        row.refresh_from_db()
        said.append(f"Lamp {len(said)} is lit.")
        turn = {"namespace": "fresh", "session_id": ("s0", "s1", "own")[len(said) % 3], "role": "user"}
        answer = everywhere.post("/v1/ingest", {**turn, "text": said[-1]})
        assert answer.status_code == 200, answer.content

    texts = list(Memory.objects.in_scope(scope).values_list("text", flat=True))
    assert {*said} <= {*texts}
    assert sorted(text for text in texts if not text.startswith("Lamp")) == sorted(
        line["text"] for line in all_lines(scope_for(ACCESS, name="alice"))["memories"]
    )
    places = list(Memory.objects.in_scope(scope).values_list("session", "turn"))
    assert len(places) == len({*places})
    assert row.counts["memories"] == {"new": len(texts) - len(said)}
    assert differences([scope.namespace_id]) == []
    assert set(Job.objects.in_scope(scope).values_list("kind", flat=True)) >= {"load_cube"}


@pytest.mark.django_db(transaction=True)
def test_loads_and_turns_at_once_lose_nothing(everywhere, cube):
    send(everywhere, cube, "fresh")
    scope = scope_for(ACCESS, name="fresh")
    row = CubeFile.objects.in_scope(scope).get()

    def act(number: int) -> None:
        if number == 0:
            run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now)
            return
        for turn in range(10):
            told = NewMemory(f"s{turn % 2}", "user", f"Lamp {number} of hall {turn} is lit.", "", {}, timezone.now())
            ingest_batch([(scope, told)], now=timezone.now())

    together(4, act)
    row.refresh_from_db()
    assert row.problem == ""
    there = Memory.objects.in_scope(scope)
    assert there.filter(text__startswith="Lamp").count() == 30
    assert there.count() == 30 + sum(row.counts["memories"].values())
    assert row.counts["memories"] == {"new": there.count() - 30}
    assert differences([scope.namespace_id]) == []


TURN = {"namespace": "fresh", "session_id": "s", "role": "user", "text": "I keep bees behind the house."}


def tell(tenant: Any, **fields: str) -> Any:
    return Client().post(
        "/v1/ingest", {**TURN, **fields}, content_type="application/json",
        headers={"Authorization": f"Bearer {tenant.token}"},
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_what_is_told_while_the_namespace_goes_is_kept_or_refused(everywhere, tmp_path):
    """The first to store wins: what was answered with 200 is there, and no answer is an internal error."""
    path = write(tmp_path, make())
    kept = refused = 0
    for _ in range(6):
        sent = send(everywhere, path, "fresh", dry_run="true")
        row = CubeFile.objects.across_namespaces().get(id=sent["id"])

        def act(number: int, row: CubeFile = row) -> Any:
            if number == 0:
                return run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now)
            return tell(everywhere, text=f"Bee {row.id} {number}.")

        answers = together(4, act)[1:]
        texts = set(Memory.objects.filter(namespace__name="fresh").values_list("text", flat=True))
        for number, answer in enumerate(answers, start=1):
            assert answer.status_code in (200, 409), answer.content
            assert (f"Bee {row.id} {number}." in texts) == (answer.status_code == 200)
            kept, refused = kept + (answer.status_code == 200), refused + (answer.status_code == 409)
        Memory.objects.across_namespaces().filter(namespace__name="fresh").delete()
    assert kept + refused == 18


@pytest.mark.django_db(transaction=True)
def test_a_name_that_a_process_still_knows_is_asked_for_anew(everywhere, tmp_path):
    """Another process has removed the namespace, and this one remembers its id for a moment."""
    path = write(tmp_path, make())
    gone = scope_for(ACCESS, name="fresh")
    assert everywhere.post("/v1/search", {"namespace": "fresh", "query": "bees"}).status_code == 200
    with transaction.atomic():
        assert remove_if_empty(gone.namespace_id)

    answer = tell(everywhere)
    assert (answer.status_code, answer.json()["error"]["detail"]) == (409, {"field": "namespace"})
    assert "send it again" in answer.json()["error"]["message"]
    assert tell(everywhere).status_code == 200
    assert Memory.objects.filter(namespace__name="fresh").count() == 1

    # A load would have had each of its lines refused.
    dead = Scope(gone.namespace_id, "fresh", "tests")
    upload = requests.CubeUpload("a.memcube", [path.read_bytes()])
    with pytest.raises(NamespaceGone):
        requests.start_load(dead, upload, options=LoadOptions(), now=timezone.now())
    assert not CubeFile.objects.across_namespaces().exists()
    with pytest.raises(NamespaceGone):
        local.load_from_file(
            dead, path, options=LoadOptions(), dry_run=False, clock=timezone.now, report=lambda *_: None
        )


@pytest.mark.django_db(transaction=True)
def test_a_command_whose_namespace_goes_says_so(everywhere, tmp_path, monkeypatch):
    path = write(tmp_path, make({"memories": [memory_line(1)]}))
    scope_for(ACCESS, name="fresh")
    whole = local.store_batch

    def store(*arguments: Any, **options: Any) -> None:
        gone = Namespace.objects.get(name="fresh")
        with transaction.atomic():
            assert remove_if_empty(gone.pk)
        whole(*arguments, **options)

    monkeypatch.setattr(local, "store_batch", store)
    with pytest.raises(CommandError, match="taken away meanwhile"):
        load_by_command(path, "fresh")


@pytest.mark.django_db(transaction=True)
def test_a_load_that_begins_keeps_the_namespace_of_one_that_ends(everywhere, tmp_path):
    path = write(tmp_path, make())
    first = send(everywhere, path, "fresh", dry_run="true")
    begun = threading.Event()
    scope = scope_for(ACCESS, name="fresh")

    def begin() -> None:
        try:
            with transaction.atomic():
                upload = requests.CubeUpload("b.memcube", [path.read_bytes()])
                requests.start_load(scope, upload, options=LoadOptions(), now=timezone.now())
                begun.set()
                # The loop ends when the other one waits for this transaction.
                with connection.cursor() as cursor:
                    for _ in range(600):
                        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted; SELECT pg_sleep(0.05)")
                        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                        if cursor.fetchone()[0]:
                            break
        finally:
            connection.close()

    other = threading.Thread(target=begin)
    other.start()
    assert begun.wait(30)
    run.carry_out_load(namespace_id=scope.namespace_id, file_id=first["id"], now=timezone.now)
    other.join()

    assert Namespace.objects.filter(name="fresh").exists()
    work("fresh")
    assert [row.text for row in Memory.objects.filter(namespace__name="fresh")] == [memory_line(1)["text"]]
