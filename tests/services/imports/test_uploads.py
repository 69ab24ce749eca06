from __future__ import annotations

import hashlib
import io

import pytest
from django.db import DatabaseError
from django.utils import timezone

from memory.errors import InvalidInput
from memory.models import CubeFile, Memory, MemoryImport, Upload, UploadPart
from memory.models.large_values import add_part
from memory.postgresql import reach
from memory.services.cube_files import requests as cube_requests
from memory.services.cube_files import run as cube_run
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.services.imports import requests, run, uploads
from memory.types import Access, Scope

pytestmark = pytest.mark.django_db(transaction=True)


def send(scope: Scope, upload: Upload, data: bytes, number: int = 0) -> None:
    access = Access(actor=scope.actor, namespace_ids=frozenset([scope.namespace_id]))
    uploads.store_part(access, upload_id=upload.id, number=number, read=io.BytesIO(data).read)


def test_a_part_that_is_sent_again_after_the_look_is_not_imported(alice, monkeypatch):
    told = b"2024-01-01 - I drink green tea in the morning.\n"
    other = b"2024-01-01 - I drink zinnober in the morning!!\n"
    digest = hashlib.sha256(told).hexdigest()
    upload = uploads.start_upload(alice.scope, name="x.txt", size=len(told), sha256=digest, now=timezone.now())
    send(alice.scope, upload, told)
    recognise = requests.recognise

    def send_again(*arguments, **named):
        send(alice.scope, upload, other)
        return recognise(*arguments, **named)

    monkeypatch.setattr(requests, "recognise", send_again)
    made = requests.start_import(alice.scope, requests.ImportUpload(upload_id=upload.id), now=timezone.now())
    run.carry_out(namespace_id=alice.scope.namespace_id, import_id=made.id, now=timezone.now)

    assert not Memory.objects.in_scope(alice.scope).exists()
    assert MemoryImport.objects.get(namespace_id=alice.scope.namespace_id, id=made.id).problem


def test_a_cube_file_that_was_changed_after_the_look_is_not_loaded(alice, bob, remember, tmp_path, monkeypatch):
    remember(alice, "The ferry leaves at nine.")
    path = tmp_path / "a.memcube"
    write_cube(alice.scope, path, options=DumpOptions(), now=timezone.now())
    told = path.read_bytes()
    upload = uploads.start_upload(bob.scope, name="a.memcube", size=len(told), now=timezone.now())
    send(bob.scope, upload, told)
    look = cube_requests._look_at

    def send_again(*arguments):
        send(bob.scope, upload, told[:-1] + bytes([told[-1] ^ 1]))
        return look(*arguments)

    monkeypatch.setattr(cube_requests, "_look_at", send_again)
    asked = {"options": LoadOptions(), "now": timezone.now(), "dry_run": False, "idempotency": None}
    row = cube_requests.start_load(bob.scope, cube_requests.CubeUpload(upload_id=upload.id), **asked)
    cube_run.carry_out_load(namespace_id=bob.scope.namespace_id, file_id=row.id, now=timezone.now)

    assert "was changed after" in CubeFile.objects.get(namespace_id=bob.scope.namespace_id, id=row.id).problem
    assert not Memory.objects.in_scope(bob.scope).exists()


def test_a_body_that_is_read_in_small_pieces_is_the_same_part(alice):
    data = bytes(range(64)) * 2**16
    upload = uploads.start_upload(alice.scope, name="x.txt", size=2 * len(data), now=timezone.now())
    access = Access(actor=alice.scope.actor, namespace_ids=frozenset([alice.scope.namespace_id]))
    for number in (1, 0):
        body = io.BytesIO(data)
        uploads.store_part(
            access, upload_id=upload.id, number=number, read=lambda size, body=body: body.read(min(size, 700_000))
        )
    assert b"".join(uploads.read_slices(upload)) == 2 * data


def test_a_server_that_takes_no_whole_part_refuses_the_upload(alice, settings):
    settings.MEMOS_MAX_BODY_BYTES = uploads.PART_BYTES - 1
    with pytest.raises(InvalidInput, match="raise MEMOS_MAX_BODY_BYTES"):
        uploads.start_upload(alice.scope, name="x.txt", size=3, now=timezone.now())


def test_another_namespace_sees_no_upload_and_adds_to_none(alice, bob):
    upload = uploads.start_upload(alice.scope, name="x.txt", size=3, now=timezone.now())
    send(alice.scope, upload, b"abc")
    with reach.within(bob.scope.namespace_id):
        assert not Upload.objects.across_namespaces().exists()
        assert not UploadPart.objects.across_namespaces().exists()
        with pytest.raises(DatabaseError, match="row-level security"):
            add_part(UploadPart, namespace_id=alice.scope.namespace_id, upload_id=upload.id, number=9, data=b"x")
