"""Files that forms of the console send in parts: permissions, reach, and use by their sender only."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client, override_settings
from django.utils import timezone

from memory.enums import AuditEvent
from memory.models import AuditLog, CubeFile, MemoryImport, Upload, UploadPart
from memory.services.cubes import create
from memory.services.imports import run, uploads
from memory.types import system_access
from ops.access import MAX_ACTOR_CHARS
from tests.ops.conftest import World
from tests.services.cube_files.hostile import make, memory_line
from tests.services.imports.exports import archive, chatgpt

IMPORTS = "/ops/imports/"
MAY = ("memory.add_memoryimport", "memory.add_cubefile", "ops.view_memory_text")
PART = 64


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", PART)
    monkeypatch.setattr(uploads, "_SLICE_BYTES", PART // 4)


@pytest.fixture
def cube_page(world: World) -> str:
    cube = create.register_cube(system_access("tests"), namespace="harbour", name="The port's", now=timezone.now())
    return f"/ops/cubes/{cube.pk}/files/"


def begin(client: Client, page: str, size: int, name: str = "export.zip") -> Any:
    return client.post(f"{page}uploads/?ns=harbour", {"name": name, "bytes": size})


def send(client: Client, page: str, content: bytes, name: str = "export.zip") -> str:
    begun = begin(client, page, len(content), name).json()
    for number in range(-(-len(content) // begun["part_bytes"])):
        part = content[number * PART : (number + 1) * PART]
        answer = client.post(f"{begun['parts']}{number}/", part, content_type="application/octet-stream")
        assert answer.status_code == 204, answer.content
    return str(begun["id"])


def export() -> bytes:
    return archive({"conversations.json": [chatgpt()]})


def test_who_may_not_sends_nothing(grant_console, world, cube_page):
    clerk, baker = grant_console("harbour"), grant_console("bakery", permissions=MAY)
    for page in (IMPORTS, cube_page):
        assert begin(clerk, page, 10).status_code == 403
        assert begin(baker, page, 10).status_code == 404
    assert not Upload.objects.across_namespaces().exists()

    sailor = grant_console("harbour", permissions=MAY)
    begun = begin(sailor, IMPORTS, 10).json()
    address = f"{begun['parts']}0/"
    assert clerk.post(address, b"x" * 10, content_type="application/octet-stream").status_code == 403
    assert baker.post(address, b"x" * 10, content_type="application/octet-stream").status_code == 404
    assert not UploadPart.objects.across_namespaces().exists()


def test_a_part_without_a_csrf_token_is_refused(grant_console, world, staff):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = staff.cookies
    begun = begin(staff, IMPORTS, 10).json()

    answer = strict.post(f"{begun['parts']}0/", b"x" * 10, content_type="application/octet-stream")
    assert answer.status_code == 403
    assert not UploadPart.objects.across_namespaces().exists()


@pytest.mark.parametrize("size", ["0", "-1", "many", ""])
def test_a_file_has_bytes(staff, world, size):
    answer = begin(staff, IMPORTS, size)

    assert (answer.status_code, answer.json()) == (400, {"problem": "The file is empty."})


@override_settings(MEMOS_MAX_UPLOAD_BYTES=100)
def test_a_refusal_says_why(staff, world):
    answer = begin(staff, IMPORTS, 101)

    assert answer.status_code == 400
    assert "100 are the limit (MEMOS_MAX_UPLOAD_BYTES)" in answer.json()["problem"]
    begun = begin(staff, IMPORTS, 100).json()
    answer = staff.post(f"{begun['parts']}0/", b"x", content_type="application/octet-stream")
    assert (answer.status_code, "1 came" in answer.json()["problem"]) == (400, True)


def test_another_file_takes_the_place_of_one_that_was_not_used(staff, world):
    first = send(staff, IMPORTS, export())
    second = begin(staff, IMPORTS, 100).json()["id"]

    assert [str(row.id) for row in Upload.objects.across_namespaces()] == [second] != [first]
    assert not UploadPart.objects.across_namespaces().exists()


def test_it_is_looked_at_and_imported(staff, world):
    upload = send(staff, IMPORTS, export())
    shown = staff.post(f"{IMPORTS}preview/?ns=harbour", {"upload": upload}, headers={"HX-Request": "true"})
    assert "Preview: ChatGPT" in shown.content.decode()

    assert staff.post(f"{IMPORTS}create/?ns=harbour", {"upload": upload, "speaker": "Ada"}).status_code == 302
    row = MemoryImport.objects.in_scope(world.harbour).get()
    run.carry_out(namespace_id=row.namespace_id, import_id=row.id, now=timezone.now)
    row.refresh_from_db()
    assert (row.name, row.speaker, row.new) == ("export.zip", "Ada", 3)
    assert not Upload.objects.across_namespaces().exists()


def test_one_of_somebody_else_is_not_used(staff, grant_console, world, cube_page):
    upload = send(staff, IMPORTS, export())
    sailor = grant_console("harbour", permissions=MAY)

    assert "There is no upload" in sailor.post(f"{IMPORTS}create/?ns=harbour", {"upload": upload}).content.decode()
    answer = sailor.post(f"{cube_page}start/", {"do": "load", "upload": upload})
    assert "There is no upload" in answer.content.decode()
    assert not MemoryImport.objects.across_namespaces().exists()


def test_two_with_long_names_share_nothing(grant_console, world):
    """The names are the same up to the length that the audit log stores."""
    sailors = [grant_console("harbour", permissions=MAY) for _ in range(2)]
    for sailor, end in zip(sailors, ("abcdef", "abcdeg"), strict=True):
        get_user_model().objects.filter(pk=sailor.session["_auth_user_id"]).update(username="n" * 144 + end)
    upload = send(sailors[0], IMPORTS, export())
    actor = Upload.objects.across_namespaces().get().actor

    answer = sailors[1].post(f"{IMPORTS}create/?ns=harbour", {"upload": upload})
    assert "There is no upload" in answer.content.decode()
    assert len(actor) == MAX_ACTOR_CHARS
    assert begin(sailors[1], IMPORTS, 10).status_code == 200
    assert Upload.objects.across_namespaces().filter(id=upload).exists()
    assert sailors[0].post(f"{IMPORTS}create/?ns=harbour", {"upload": upload}).status_code == 302


def test_it_is_loaded_into_a_cube(staff, world, cube_page):
    content = make({"memories": [memory_line()]})
    upload = send(staff, cube_page, content, name="port.memcube")

    assert staff.post(f"{cube_page}start/", {"do": "dry_run", "upload": upload}).status_code == 302
    row = CubeFile.objects.in_scope(world.harbour).get()
    assert (row.name, row.dry_run, row.digest) == ("port.memcube", True, hashlib.sha256(content).hexdigest())
    assert uuid.UUID(upload) == Upload.objects.across_namespaces().get(used_by=row.id).id


def listed(client: Client, **query: str) -> list[Upload]:
    answer = client.get("/admin/memory/upload/", query)
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def test_the_admin_says_what_is_here_of_each_and_what_uses_it(staff, world, cube_page):
    content = make({"memories": [memory_line()]})
    used = [send(staff, IMPORTS, export())]
    staff.post(f"{IMPORTS}create/?ns=harbour", {"upload": used[0]})
    used.append(send(staff, cube_page, content, name="port.memcube"))
    staff.post(f"{cube_page}start/", {"do": "dry_run", "upload": used[1]})
    unused = begin(staff, IMPORTS, PART * 3, name="tides.zip").json()
    staff.post(f"{unused['parts']}1/", b"x" * PART, content_type="application/octet-stream")

    shown = staff.get("/admin/memory/upload/").content.decode()
    imported, loaded = (
        MemoryImport.objects.in_scope(world.harbour).get(),
        CubeFile.objects.in_scope(world.harbour).get(),
    )
    assert f'<a href="/ops/imports/{imported.id}/">An import</a>' in shown
    assert f'<a href="/admin/memory/cubefile/{loaded.id}/change/">A load</a>' in shown
    for word in ("export.zip", "port.memcube", "tides.zip", "staff:ann", str(len(content))):
        assert word in shown
    assert "1 / 3" in staff.get(f"/admin/memory/upload/{unused['id']}/change/").content.decode()
    assert [str(row.id) for row in listed(staff, used_by__isempty="1")] == [str(unused["id"])]
    assert {str(row.id) for row in listed(staff, used_by__isempty="0")} == set(used)


def test_the_admin_changes_no_upload(staff, world):
    send(staff, IMPORTS, export())
    before = [list(model._base_manager.values()) for model in (Upload, UploadPart)]
    row = Upload.objects.across_namespaces().get()
    base = "/admin/memory/upload/"

    assert staff.post(f"{base}add/", {}).status_code == 403
    assert staff.post(f"{base}{row.pk}/change/", {"name": "x"}).status_code == 403
    assert staff.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(base, {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"})
    assert [list(model._base_manager.values()) for model in (Upload, UploadPart)] == before


def test_the_admin_names_a_file_to_who_may_read(staff, grant_console, world):
    send(staff, IMPORTS, export())
    row = Upload.objects.across_namespaces().get()
    sailor = grant_console("harbour", permissions=("memory.view_upload",))
    baker = grant_console("bakery", permissions=("memory.view_upload", "ops.view_memory_text"))
    pages = ("/admin/memory/upload/", f"/admin/memory/upload/{row.pk}/change/")

    for page in pages:
        assert "export.zip" in staff.get(page).content.decode()
        shown = sailor.get(page).content.decode()
        assert ("export.zip" in shown, "•••" in shown) == (False, True)
    assert (listed(baker), baker.get(pages[1]).status_code) == ([], 404)
    [event] = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_VIEW)
    assert (event.subject, event.details["what"]) == (str(row.pk), "upload")
