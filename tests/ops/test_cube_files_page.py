"""`/ops/cubes/ID/files/`: permitted staff dump a cube and load files, in namespaces that they reach."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory.models import CubeFile, CubeFilePart, Memory, Procedure
from memory.services.cube_files import requests, run
from memory.services.cube_files.dump import DumpOptions
from memory.services.cubes.create import register_cube
from memory.services.tenancy.policy import governing
from memory.types import system_access
from tests.ops.conftest import World
from tests.services.cube_files.hostile import AT, make, memory_line

MAY = ("memory.add_cubefile", "ops.view_memory_text")


@pytest.fixture
def page(world: World) -> str:
    cube = register_cube(system_access("tests"), namespace="harbour", name="The port's", now=timezone.now())
    return f"/ops/cubes/{cube.pk}/files/"


def work() -> CubeFile:
    row = CubeFile.objects.across_namespaces().order_by("-id")[0]
    carry_out = run.carry_out_dump if row.kind == "dump" else run.carry_out_load
    carry_out(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now)
    row.refresh_from_db()
    return row


def test_who_may_not_does_nothing(grant_console, page):
    looks = grant_console("harbour")
    assert "Dump the cube" not in looks.get(page).content.decode()
    assert looks.post(f"{page}start/", {"do": "dump"}).status_code == 403
    other = grant_console("bakery", permissions=MAY)
    assert other.get(page).status_code == 404
    assert other.post(f"{page}start/", {"do": "dump"}).status_code == 404
    assert not CubeFile.objects.across_namespaces().exists()


def test_a_dump_is_downloaded_by_who_may_read_texts(grant_console, page):
    clerk = grant_console("harbour", permissions=MAY)
    assert clerk.post(f"{page}start/", {"do": "dump"}).status_code == 302
    row = work()
    content = f"/ops/cubes/files/{row.id}/content/"

    assert content in clerk.get(page).content.decode()
    assert b"".join(clerk.get(content).streaming_content).startswith(b"PK")
    masked = grant_console("harbour")
    assert content not in masked.get(page).content.decode()
    assert masked.get(content).status_code == 403
    assert grant_console("bakery", permissions=MAY).get(content).status_code == 404


def test_a_dump_with_the_quarantine_is_for_who_may_open_that(grant_console, page, world):
    row = requests.start_dump(world.harbour, options=DumpOptions(quarantine=True), now=timezone.now())
    work()
    content = f"/ops/cubes/files/{row.id}/content/"

    assert grant_console("harbour", permissions=MAY).get(content).status_code == 403
    may = (*MAY, "memory.view_quarantineditem")
    assert grant_console("harbour", permissions=may).get(content).status_code == 200


def test_a_file_is_looked_through_and_loaded(grant_console, page, world):
    clerk = grant_console("harbour", permissions=MAY)
    before = Memory.objects.in_scope(world.harbour).count()
    for do, added in (("dry_run", 0), ("load", 1)):
        clerk.post(f"{page}start/", {"do": do, "file": SimpleUploadedFile("a.memcube", make())})
        assert work().counts == {"memories": {"new": 1}}
        assert Memory.objects.in_scope(world.harbour).count() == before + added
    assert "1 new" in clerk.get(page).content.decode()
    refused = clerk.post(f"{page}start/", {"do": "load", "file": SimpleUploadedFile("a", b"x" * 9)}, follow=True)
    assert "no cube&#x27;s file" in refused.content.decode()


BRINGS = {"policy": "memory.change_namespacepolicy", "procedures": "memory.add_procedure"}


@pytest.mark.parametrize("name", BRINGS)
def test_who_may_not_change_a_policy_or_prompts_brings_none(grant_console, page, world, name):
    others = [needed for other, needed in BRINGS.items() if other != name]
    clerk = grant_console("harbour", permissions=(*MAY, *others))
    shown = clerk.get(page).content.decode()
    assert f'name="{name}"' not in shown
    assert "What of its policy, prompts and tools you may not change here stays out." in shown
    for do in ("dry_run", "load"):
        asked = {"do": do, "file": SimpleUploadedFile("a.memcube", make()), name: "on"}
        assert clerk.post(f"{page}start/", asked).status_code == 403
    assert not CubeFile.objects.across_namespaces().exists()


def test_policy_prompts_and_tools_come_if_they_are_asked_for(grant_console, page, world):
    clerk = grant_console("harbour", permissions=(*MAY, *BRINGS.values()))
    policy = {"version": 1, "overrides": {"gate.worth_threshold": 0.2}, "reason": "", "updated_by": "x"}
    parts = {
        "memories": [memory_line()], "policies": [{**policy, "updated_at": AT}],
        "procedures": [
            {"kind": "prompt", "name": "greeting", "version": "1", "description": "", "text": "Be brief.",
             "parameters": {}, "enabled": True, "created_at": AT}
        ],
    }  # fmt: skip
    content = make(parts, manifest={"policy": 1})
    for asked in ({}, {"policy": "on"}, {"procedures": "on"}):
        clerk.post(f"{page}start/", {"do": "dry_run", "file": SimpleUploadedFile("a.memcube", content), **asked})
        named = {"policy": "policies", "procedures": "procedures"}
        assert set(work().counts) == {"memories", *(named[name] for name in asked)}
    own = Procedure.objects.filter(namespace_id=world.harbour.namespace_id)
    assert not own.exists()
    assert governing(world.harbour.namespace_id).version == 0

    both = dict.fromkeys(BRINGS, "on")
    clerk.post(f"{page}start/", {"do": "load", "file": SimpleUploadedFile("a.memcube", content), **both})
    assert work().counts == {part: {"new": 1} for part in ("memories", "policies", "procedures")}
    assert own.get().text == "Be brief."
    assert governing(world.harbour.namespace_id).overrides == {"gate.worth_threshold": 0.2}


def test_boxes_that_were_ticked_stay_so_beside_a_refusal(grant_console, page, world):
    clerk = grant_console("harbour", permissions=(*MAY, *BRINGS.values()))
    content = make({"memories": [memory_line()], "procedures": []}, signed=False)
    asked = {"do": "load", "file": SimpleUploadedFile("a.memcube", content), "policy": "on"}
    refused = clerk.post(f"{page}start/", asked).content.decode()

    assert "is not signed" in refused
    assert 'name="policy" checked' in refused
    assert 'name="procedures" checked' not in refused


def test_the_admin_lists_all_and_deletes_what_is_over(staff, grant_console, world):
    row = requests.start_dump(world.harbour, options=DumpOptions(), now=timezone.now())
    base = "/admin/memory/cubefile/"
    assert "Queued" in staff.get(base).content.decode()
    assert staff.post(f"{base}{row.id}/change/", {"name": "x"}).status_code == 403
    assert staff.post(f"{base}{row.id}/delete/", {"post": "yes"}).status_code == 403
    work()

    shown = staff.get(f"{base}{row.id}/change/").content.decode()
    assert "Done" in shown
    other = grant_console("bakery", permissions=("memory.view_cubefile",))
    assert other.get(f"{base}{row.id}/change/").status_code == 404
    reader = grant_console("harbour", permissions=("memory.view_cubefile",))
    assert reader.get(f"{base}{row.id}/change/").status_code == 200
    assert reader.post(f"{base}{row.id}/delete/", {"post": "yes"}).status_code == 403
    staff.post(base, {"action": "delete_selected", "_selected_action": [str(row.id)], "post": "yes"})
    assert not CubeFile.objects.across_namespaces().exists()
    assert not CubeFilePart.objects.across_namespaces().exists()
