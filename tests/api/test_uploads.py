"""/v1/uploads: a file too large for one request is sent in parts, and an import or a load uses it."""

from __future__ import annotations

import errno
import hashlib
import shutil
import uuid
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.test import override_settings
from django.utils import timezone

from memory.errors import NoRoom
from memory.models import CubeFilePart, ImportPart, Job, Memory, MemoryImport, Upload, UploadPart
from memory.services.erasure import requests as erasures
from memory.services.erasure import run as erasing
from memory.services.imports import disk, requests, run, uploads
from tests.job_queue import run_job, run_task
from tests.services.cube_files.hostile import make, memory_line
from tests.services.imports.exports import archive, chatgpt

UPLOADS = "/v1/uploads"
PART = 64


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(uploads, "PART_BYTES", PART)
    monkeypatch.setattr(uploads, "_SLICE_BYTES", PART // 4)


@pytest.fixture
def export():
    return archive({"conversations.json": [chatgpt(f"c{number}") for number in range(3)]})


def begin(tenant, size, name="export.zip", **fields):
    return tenant.post(UPLOADS, {"namespace": tenant.scope.namespace, "name": name, "bytes": size, **fields})


def put(tenant, upload_id, number, data):
    return tenant.client.put(f"{UPLOADS}/{upload_id}/parts/{number}", data, content_type="application/octet-stream")


def slice_up(content):
    return [content[at : at + PART] for at in range(0, len(content), PART)]


def send(tenant, content, name="export.zip", **fields):
    answer = begin(tenant, len(content), name, **fields)
    assert answer.status_code == 200, answer.content
    upload_id = answer.json()["id"]
    for number, data in enumerate(slice_up(content)):
        answer = put(tenant, upload_id, number, data)
        assert (answer.status_code, answer.content) == (204, b"")
    return upload_id


def start_import(tenant, upload_id, **fields):
    return tenant.post("/v1/imports", {"namespace": tenant.scope.namespace, "upload": upload_id, **fields})


def load(tenant, upload_id, **fields):
    return tenant.client.post("/v1/cubes/load", {"namespace": tenant.scope.namespace, "upload": upload_id, **fields})


def work(tenant):
    """Carry out the queued jobs, as the worker would."""
    kinds = ("import_memories", "load_cube")
    for job in Job.objects.in_scope(tenant.scope).filter(kind__in=kinds, state="queued"):
        run_job(job)


def erase(tenant, **target):
    row = erasures.request(tenant.scope, target=erasures.Target(**target), reason="gone", now=timezone.now())
    erasing.carry_out(namespace_id=tenant.scope.namespace_id, erasure_id=row.id, now=timezone.now)


def error(answer, status):
    assert answer.status_code == status, answer.content
    return answer.json()["error"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"bytes": 0}, "bytes"),
        ({"bytes": "many"}, "bytes"),
        ({"name": ""}, "name"),
        ({"namespace": ""}, "namespace"),
        ({"sha256": "abc"}, "sha256"),
    ],
)
def test_what_is_wrong_is_named(alice, change, field):
    answer = alice.post(UPLOADS, {"namespace": "alice", "name": "x.zip", "bytes": 10, **change})

    assert error(answer, 400)["detail"][0]["field"] == field


@override_settings(MEMOS_MAX_UPLOAD_BYTES=1_000)
def test_files_and_room_of_a_key_are_limited(alice, bob, make_tenant):
    refused = error(begin(alice, 1_001), 400)
    assert "1001 bytes; 1000 are the limit (MEMOS_MAX_UPLOAD_BYTES)" in refused["message"]
    first = begin(alice, 600).json()["id"]
    refused = error(begin(alice, 401), 409)
    assert (refused["detail"], "have 600 bytes, of 1000" in refused["message"]) == ({"open": [first]}, True)
    assert "import or load one of them, or delete it" in refused["message"]
    assert begin(bob, 1_000).status_code == 200
    # Other keys of the namespace have quotas independent of these uploads.
    assert begin(make_tenant("alice"), 1_000).status_code == 200

    assert alice.client.delete(f"{UPLOADS}/{first}").status_code == 204
    assert begin(alice, 401).status_code == 200


def test_a_key_has_so_many_unused_uploads(alice, make_tenant):
    for _ in range(uploads.MAX_OPEN):
        assert begin(alice, 10).status_code == 200

    assert len(error(begin(alice, 10), 409)["detail"]["open"]) == uploads.MAX_OPEN
    assert begin(make_tenant("alice"), 10).status_code == 200


@pytest.mark.parametrize("limit", ["bytes", "files"])
def test_a_namespace_has_room_for_so_many(make_tenant, bob, limit, export):
    """Used uploads count too, because they stay until they are imported."""
    size = len(export) if limit == "bytes" else 10
    with override_settings(MEMOS_MAX_UPLOAD_BYTES=len(export)):
        senders = [make_tenant("alice") for _ in range(uploads.SENDERS)]
        if limit == "bytes":
            used = start_import(senders[0], send(senders[0], export)).json()["id"]
        for sender in senders[1:] if limit == "bytes" else senders:
            for _ in range(1 if limit == "bytes" else uploads.MAX_OPEN):
                assert begin(sender, size).status_code == 200
        last = make_tenant("alice")
        refused = error(begin(last, size), 409)
        assert begin(bob, size).status_code == 200

        assert refused["detail"]["open"] == []
        told = {one["actor"]: (one["files"], one["bytes"]) for one in refused["detail"]["senders"]}
        files = 1 if limit == "bytes" else uploads.MAX_OPEN
        assert told == {sender.scope.actor: (files, files * size) for sender in senders}
        for sender in senders:
            assert f"{sender.scope.actor} {files} with {files * size} bytes" in refused["message"]
        assert "go by themselves after 24 hours" in refused["message"]
        if limit == "bytes":
            work(senders[0])
            assert senders[0].get(f"/v1/imports/{used}").json()["state"] == "done"
            assert begin(last, size).status_code == 200


def test_only_who_began_it_sends_parts_and_uses_it(alice, bob, olga, make_tenant, export):
    upload_id = send(alice, export)
    colleague = make_tenant("alice")

    for stranger in (bob, colleague):
        assert stranger.get(f"{UPLOADS}/{upload_id}").status_code == 404
        assert put(stranger, upload_id, 0, export[:PART]).status_code == 404
        assert stranger.client.delete(f"{UPLOADS}/{upload_id}").status_code == 404
        assert "There is no upload" in error(start_import(stranger, upload_id), 404)["message"]
        assert start_import(stranger, upload_id, preview=True).status_code == 404
        assert load(stranger, upload_id).status_code == 404
    assert olga.put(f"{UPLOADS}/{upload_id}/parts/0", b"x", content_type="application/octet-stream").status_code == 401
    reader = make_tenant("alice", scopes=("read",))
    assert begin(reader, 10).status_code == 403
    assert start_import(alice, upload_id).status_code == 200


def test_it_is_used_in_its_own_namespace_only(make_tenant, export):
    anyone = make_tenant("root", all_namespaces=True)
    upload_id = send(anyone, export)

    answer = anyone.post("/v1/imports", {"namespace": "elsewhere", "upload": upload_id})
    assert "There is no upload" in error(answer, 404)["message"]
    assert start_import(anyone, upload_id).status_code == 200


def test_parts_come_in_any_order_and_again(alice, export):
    upload_id = begin(alice, len(export)).json()["id"]
    parts = slice_up(export)
    put(alice, upload_id, 0, b"x" * PART)
    for number in reversed(range(len(parts))):
        assert put(alice, upload_id, number, parts[number]).status_code == 204

    shown = alice.get(f"{UPLOADS}/{upload_id}").json()
    assert (shown["parts"], shown["arrived"], shown["missing"]) == (len(parts), len(parts), [])
    answer = start_import(alice, upload_id)
    work(alice)
    assert alice.get(f"/v1/imports/{answer.json()['id']}").json()["new"] == 9


@pytest.mark.parametrize(
    ("number", "data", "says"),
    [
        (0, b"x" * (PART - 1), f"Part 0 has {PART} bytes; {PART - 1} came"),
        (0, b"x" * (PART + 1), f"Part 0 has {PART} bytes; more than {PART} came"),
        (0, b"", f"Part 0 has {PART} bytes; 0 came"),
        (1, b"x" * PART, "Part 1 has 36 bytes; more than 36 came"),
        (2, b"x", "its parts are 0 to 1"),
    ],
)
def test_a_part_of_another_length_is_refused_and_changes_nothing(alice, number, data, says):
    upload_id = begin(alice, 100).json()["id"]
    put(alice, upload_id, 0, b"a" * PART)

    assert says in error(put(alice, upload_id, number, data), 400)["message"]
    shown = alice.get(f"{UPLOADS}/{upload_id}").json()
    assert (shown["arrived"], shown["missing"]) == (1, [1])
    assert b"".join(bytes(part.data) for part in UploadPart.objects.across_namespaces().order_by("number")) == b"a" * 64


def test_a_file_that_is_not_all_here_is_not_used(alice, export):
    upload_id = begin(alice, len(export)).json()["id"]
    put(alice, upload_id, 1, export[PART : 2 * PART])

    for preview in (True, False):
        refused = error(start_import(alice, upload_id, preview=preview), 409)
        assert refused["detail"]["missing"][:2] == [0, 2]
    assert error(load(alice, upload_id), 409)["detail"]["field"] == "upload"
    assert not MemoryImport.objects.across_namespaces().exists()


def test_a_file_with_another_sha256_is_refused(alice, export):
    upload_id = send(alice, export, sha256=hashlib.sha256(export + b"x").hexdigest())

    assert "another SHA-256 than was announced" in error(start_import(alice, upload_id), 400)["message"]
    assert start_import(alice, send(alice, export, sha256=hashlib.sha256(export).hexdigest())).status_code == 200


def test_an_import_uses_it_and_takes_it_away(alice, export):
    upload_id = send(alice, export)
    found = start_import(alice, upload_id, preview=True).json()
    assert (found["turns"], found["name"], found["state"]) == (9, "export.zip", "preview")
    assert not MemoryImport.objects.across_namespaces().exists()

    answer = start_import(alice, upload_id, speaker="Alice").json()
    assert (answer["name"], answer["bytes"], answer["state"]) == ("export.zip", len(export), "queued")
    assert not ImportPart.objects.across_namespaces().exists()
    assert alice.get(f"{UPLOADS}/{upload_id}").json()["used_by"] == answer["id"]
    for refused in (start_import(alice, upload_id), put(alice, upload_id, 0, export[:PART]), load(alice, upload_id)):
        assert "is used already" in error(refused, 409)["message"]
    assert alice.client.delete(f"{UPLOADS}/{upload_id}").status_code == 409

    work(alice)
    report = alice.get(f"/v1/imports/{answer['id']}").json()
    assert (report["state"], report["new"]) == ("done", 9)
    assert not Upload.objects.across_namespaces().exists()
    assert not UploadPart.objects.across_namespaces().exists()


def test_a_file_that_is_refused_can_be_deleted_or_sent_anew(alice):
    upload_id = send(alice, b"%PDF-1.7 " + b"x" * 200, name="x.pdf")

    assert "POST /v1/documents" in error(start_import(alice, upload_id), 400)["message"]
    assert alice.get(f"{UPLOADS}/{upload_id}").json()["used_by"] is None
    assert alice.client.delete(f"{UPLOADS}/{upload_id}").status_code == 204
    assert not UploadPart.objects.across_namespaces().exists()


def test_a_request_that_is_repeated_starts_one_import(alice, export):
    upload_id = send(alice, export)
    body = {"namespace": "alice", "upload": upload_id}
    first = alice.post("/v1/imports", body, Idempotency_Key="k1").json()
    work(alice)
    again = alice.post("/v1/imports", body, Idempotency_Key="k1")

    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert MemoryImport.objects.in_scope(alice.scope).count() == 1


@pytest.mark.parametrize("given", [{}, {"text": "I live in Graz.", "upload": str(uuid.uuid4())}])
def test_either_text_or_an_upload(alice, given):
    answer = alice.post("/v1/imports", {"namespace": "alice", **given})

    assert error(answer, 400)["detail"][0]["field"] == "text"


def test_a_cancelled_import_takes_it_away(alice, export):
    answer = start_import(alice, send(alice, export)).json()

    assert alice.post(f"/v1/imports/{answer['id']}/cancel", {}).status_code == 200
    assert not Upload.objects.across_namespaces().exists()
    assert not UploadPart.objects.across_namespaces().exists()


def test_a_run_that_broke_off_goes_on_with_it(alice, export, monkeypatch):
    monkeypatch.setattr("memory.services.imports.take_in.BATCH", 2)
    answer = start_import(alice, send(alice, export)).json()
    import_id = uuid.UUID(answer["id"])

    run.carry_out(namespace_id=alice.scope.namespace_id, import_id=import_id, now=timezone.now, seconds=0)
    assert UploadPart.objects.across_namespaces().exists()
    work(alice)
    assert alice.get(f"/v1/imports/{answer['id']}").json()["new"] == 9
    assert Memory.objects.in_scope(alice.scope).count() == 9


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_load_uses_it_and_takes_it_away(alice, dry_run):
    content = make({"memories": [memory_line()]})
    upload_id = send(alice, content, name="alice.memcube", sha256=hashlib.sha256(content).hexdigest())
    answer = load(alice, upload_id, dry_run=dry_run)

    assert answer.status_code == 200, answer.content
    assert answer.json()["sha256"] == hashlib.sha256(content).hexdigest()
    assert not CubeFilePart.objects.across_namespaces().exists()
    work(alice)
    report = alice.get(f"/v1/cubes/files/{answer.json()['id']}").json()
    assert (report["state"], report["counts"]["memories"]) == ("done", {"new": 1})
    assert Memory.objects.in_scope(alice.scope).count() == (dry_run == "false")
    assert not Upload.objects.across_namespaces().exists()
    assert not UploadPart.objects.across_namespaces().exists()


def test_a_load_of_a_file_or_of_an_upload(alice):
    assert error(alice.client.post("/v1/cubes/load", {"namespace": "alice"}), 400)["detail"][0]["field"] == "file"


def test_what_nothing_uses_goes_after_a_day(alice, export):
    used = start_import(alice, send(alice, export)).json()["id"]
    send(alice, export)

    assert uploads.forget(now=timezone.now() + timedelta(hours=23)) == 0
    assert uploads.forget(now=timezone.now() + timedelta(hours=25)) == 1
    assert str(Upload.objects.across_namespaces().get().used_by) == used
    work(alice)
    assert alice.get(f"/v1/imports/{used}").json()["new"] == 9


def test_what_an_import_that_is_forgotten_used_goes_with_it(alice, export):
    start_import(alice, send(alice, export))
    Job.objects.in_scope(alice.scope).delete()

    assert requests.forget(now=timezone.now() + timedelta(days=400)) == 1
    assert not UploadPart.objects.across_namespaces().exists()


def test_an_erasure_takes_away_what_nothing_is_at(alice, export, remember):
    memory_id = uuid.UUID(remember(alice, "Something else."))
    waiting, unused = start_import(alice, send(alice, export)).json()["id"], send(alice, export)
    erase(alice, memory_ids=(memory_id,))

    assert alice.get(f"{UPLOADS}/{unused}").status_code == 404
    assert put(alice, unused, 0, export[:PART]).status_code == 404
    work(alice)
    assert alice.get(f"/v1/imports/{waiting}").json()["new"] == 9
    assert not UploadPart.objects.across_namespaces().exists()


def test_an_erasure_of_all_takes_all_away(alice, export):
    start_import(alice, send(alice, export))
    send(alice, export)
    erase(alice, whole_namespace=True)

    assert not Upload.objects.across_namespaces().exists()
    assert not UploadPart.objects.across_namespaces().exists()


def disk_with(free, total=1000 * 2**30):
    return lambda path: shutil._ntuple_diskusage(total, total - free, free)


@pytest.mark.parametrize("free", [10, disk.LEFT_BYTES, disk.LEFT_BYTES + 100])
def test_a_disk_without_room_says_so(alice, export, monkeypatch, free):
    upload_id = send(alice, export)
    monkeypatch.setattr(disk.shutil, "disk_usage", disk_with(free))

    refused = start_import(alice, upload_id)
    said = error(refused, 503)["message"]
    assert (f"on the server has {free} bytes free" in said, "TMPDIR" in said) == (True, True)
    assert int(refused["Retry-After"]) > 0
    assert not MemoryImport.objects.across_namespaces().exists()


@pytest.mark.parametrize("total", [1000 * 2**30, 10_000])
def test_what_leaves_some_room_is_taken(alice, export, monkeypatch, total):
    left = min(disk.LEFT_BYTES, total // 20)
    monkeypatch.setattr(disk.shutil, "disk_usage", disk_with(left + len(export), total))

    assert start_import(alice, send(alice, export)).status_code == 200


def test_a_disk_that_is_full_half_way_says_so(tmp_path):
    def send_some():
        yield b"x"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NoRoom, match="is full: free some"):
        disk.write_file(tmp_path / "file", send_some())


@pytest.fixture
def database_here(settings, tmp_path, monkeypatch):
    """Configure the database as in `make run`: in the server's folder, listening on a socket."""
    (tmp_path / "postgres").mkdir()
    settings.MEMOS_DATA_DIR = tmp_path
    monkeypatch.setitem(connection.settings_dict, "HOST", str(tmp_path))


def test_the_database_keeps_some_room(alice, database_here, monkeypatch):
    upload_id = begin(alice, 200).json()["id"]
    monkeypatch.setattr(disk.shutil, "disk_usage", disk_with(disk.LEFT_BYTES + PART - 1))
    refused = begin(alice, 200)
    assert "uploads go when they are imported, loaded or deleted" in error(refused, 503)["message"]
    assert int(refused["Retry-After"]) > 0
    error(put(alice, upload_id, 0, b"x" * PART), 503)
    assert not UploadPart.objects.across_namespaces().exists()

    monkeypatch.setattr(disk.shutil, "disk_usage", disk_with(disk.LEFT_BYTES + PART))
    assert put(alice, upload_id, 0, b"x" * PART).status_code == 204


def test_the_disk_of_a_database_elsewhere_is_not_known(alice, database_here, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "HOST", "db.example.org")
    monkeypatch.setattr(disk.shutil, "disk_usage", disk_with(0))

    upload_id = begin(alice, PART).json()["id"]
    assert put(alice, upload_id, 0, b"x" * PART).status_code == 204


def test_uploads_that_cannot_be_forgotten_do_not_keep_imports(alice, export, monkeypatch):
    import_id = start_import(alice, send(alice, export)).json()["id"]
    Job.objects.across_namespaces().delete()
    MemoryImport.objects.across_namespaces().filter(id=import_id).update(
        created_at=timezone.now() - timedelta(days=400)
    )

    def fail(**_named):
        raise DatabaseError("The disk is full.")

    monkeypatch.setattr(uploads, "forget", fail)
    with pytest.raises(DatabaseError, match="The disk is full"):
        run_task("forget_imports")
    assert not MemoryImport.objects.across_namespaces().exists()
