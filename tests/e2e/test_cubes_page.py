"""Cubes and users in the browser: cubes are registered, changed, shared, dumped and loaded; a user is made, and erased
with a receipt."""

from __future__ import annotations

from django.utils import timezone
from playwright.sync_api import expect

from memory.enums import Attitude
from memory.models import Cube, CubeShare, Erasure, Memory, Procedure
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cubes.create import register_cube
from memory.services.erasure import run as erasing
from memory.services.tenancy import users
from memory.services.tenancy.policy import governing, put_policy
from memory.types import system_access
from tests.e2e.conftest import check_looks
from tests.ops.test_cube_files_page import work

EVERYTHING = system_access("tests")


def test_a_cube_is_registered_shared_changed_and_unregistered(open_page, root, world):
    users.create_user(EVERYTHING, namespace="harbour", name="Ann", now=timezone.now())
    page = open_page("/ops/cubes/?ns=harbour", client=root)
    check_looks(page, "cubes-empty", page.get_by_text("This namespace is not a cube yet"))
    page.get_by_label("Name", exact=True).fill("The port's")
    page.get_by_role("button", name="Register harbour").click()

    page.get_by_label("User", exact=True).fill("nobody")
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_text("There is no user “nobody”")).to_be_visible()
    page.get_by_label("User", exact=True).fill("Ann")
    page.get_by_label("The user may").select_option("write")
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_label("Owner").fill("somebody")
    page.get_by_label("Adapters").check()
    page.get_by_role("button", name="Save the changes").click()
    revoke = page.get_by_role("button", name="Revoke the share with Ann")
    refusal = page.get_by_text("There is no user “somebody”")
    check_looks(page, "cube", revoke, refusal, page.locator(".chart-title").get_by_text("Memories by kind"))
    page.get_by_label("Owner").fill("Ann")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("texts, adapters")).to_be_visible()
    revoke.click()
    expect(page.get_by_text("Shared with nobody")).to_be_visible()
    assert not CubeShare.objects.across_namespaces().exists()

    page.get_by_text("Unregister…").click()
    page.get_by_role("button", name="Unregister the cube").click()
    expect(page.get_by_text("This namespace is not a cube yet")).to_be_visible()
    assert not Cube.objects.across_namespaces().exists()


def test_a_dump_is_downloaded_and_loaded(open_page, root, world, tmp_path):
    cube = register_cube(EVERYTHING, namespace="harbour", name="The port's", now=timezone.now())
    page = open_page(f"/ops/cubes/{cube.pk}/files/?ns=harbour", client=root)
    page.get_by_role("button", name="Dump the cube").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    work()
    # The page updates itself.
    link = page.get_by_role("link", name="Download harbour")
    with page.expect_download() as download:
        link.click()
    file = tmp_path / "harbour.memcube"
    download.value.save_as(file)

    page.get_by_label("File of a cube").set_input_files(tmp_path / "harbour.memcube")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_role("button", name="Cancel harbour.memcube").wait_for()
    work()
    page.get_by_text("would be, if it were loaded").wait_for()
    # The file is loaded on the page of another namespace.
    other = register_cube(EVERYTHING, namespace="bakery", name="The baker's", now=timezone.now())
    page.goto(f"/ops/cubes/{other.pk}/files/?ns=bakery")
    page.get_by_label("File of a cube").set_input_files(file)
    page.get_by_role("button", name="Load the file").click()
    page.get_by_role("button", name="Cancel harbour.memcube").wait_for()
    work()
    page.get_by_text("Full report").click()
    check_looks(page, "cube-files", page.get_by_text("4 new").first, page.get_by_text("of the cube “The port's”"))
    assert Memory.objects.filter(namespace__name="bakery", text__contains="buoy seven").exists()


def test_a_load_brings_policy_prompts_and_tools_if_their_boxes_are_ticked(open_page, root, world, tmp_path):
    put_policy(world.harbour, wanted={"gate": {"worth_threshold": 0.2}}, now=timezone.now())
    Procedure.objects.create(
        namespace_id=world.harbour.namespace_id, kind="prompt", name="greeting", description="How to greet",
        text="Be brief.",
    )  # fmt: skip
    file = tmp_path / "harbour.memcube"
    write_cube(world.harbour, file, options=DumpOptions(), now=timezone.now())
    other = register_cube(EVERYTHING, namespace="bakery", name="The baker's", now=timezone.now())
    page = open_page(f"/ops/cubes/{other.pk}/files/?ns=bakery", client=root)
    for ticked in (False, True):
        page.get_by_label("File of a cube").set_input_files(file)
        if ticked:
            page.get_by_label("With its policy").check()
            page.get_by_label("With its prompts and tools").check()
        page.get_by_role("button", name="Load the file").click()
        page.get_by_role("button", name="Cancel harbour.memcube").wait_for()
        row = work()
        assert ("policies" in row.counts, "procedures" in row.counts) == (ticked, ticked)
        page.get_by_role("button", name="Cancel harbour.memcube").wait_for(state="detached")
    page.get_by_text("Full report").first.click()
    report = page.locator("dl.definitions").first
    check_looks(
        page, "cube-load-options", page.get_by_label("With its policy"), report.get_by_text("Prompts and tools"),
        report.get_by_text("Policy", exact=True),
    )  # fmt: skip
    assert governing(other.namespace_id).overrides == {"gate.worth_threshold": 0.2}
    assert Procedure.objects.get(namespace_id=other.namespace_id).text == "Be brief."


def test_a_user_is_made_and_erased_with_a_receipt(open_page, root, world):
    page = open_page("/ops/users/?ns=harbour", client=root)
    check_looks(page, "users", page.get_by_text("There are no users yet"))
    for name in ("Ann", "Ann"):
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Create the user in harbour").click()
        page.get_by_role("link", name="Users").last.click()
    page.get_by_role("link", name="Ann").click()
    Memory.objects.in_scope(world.harbour).filter(pk=world.ids[0]).update(
        is_preference=True, metadata={"preference": {"attitude": Attitude.HABIT, "shown_by": "choices"}}
    )
    page.reload()
    check_looks(page, "user", page.get_by_text("Shown by choices"))

    page.get_by_text("Erase…").click()
    page.get_by_text("4 memories of harbour").wait_for()
    page.get_by_label("Reason").fill("asked by mail")
    page.get_by_label("Type the user's name").fill("ann")
    page.get_by_role("button", name="Erase the user for good").click()
    expect(page.get_by_text("type the name exactly")).to_be_visible()
    page.get_by_label("Type the user's name").fill("Ann")
    page.get_by_role("button", name="Erase the user for good").click()
    page.get_by_role("heading", name="An erased user").wait_for()
    erasure = Erasure.objects.across_namespaces().get()
    erasing.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now)
    check_looks(page, "user-erased", page.get_by_text("All erased").first)
    page.get_by_role("link", name="What was cleared where").click()
    check_looks(page, "erasure", page.get_by_text("What one person said"))
