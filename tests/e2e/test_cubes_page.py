"""Cubes in the browser: registered and shared, dumped, downloaded and loaded; a user is erased with a receipt."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import CubeShare, Erasure, User
from memory.services.cubes.create import register_cube
from memory.services.erasure import run as erasing
from memory.services.tenancy import users
from memory.types import system_access
from tests.e2e.conftest import check_looks
from tests.ops.test_cube_files_page import work

EVERYTHING = system_access("tests")


@pytest.fixture
def ann(world) -> User:
    return users.create_user(
        EVERYTHING, namespace="harbour", name="Ann", preferences={"tea": "oolong"}, now=timezone.now()
    )


def test_a_cube_is_registered_and_shared(open_page, root, ann):
    page = open_page("/ops/cubes/?ns=harbour", client=root)
    check_looks(page, "cubes-empty", page.get_by_text("This namespace is not a cube yet"))
    page.get_by_label("Name", exact=True).fill("The port's")
    page.get_by_role("button", name="Register harbour").click()

    page.get_by_label("User", exact=True).fill("nobody")
    page.get_by_role("button", name="Share", exact=True).click()
    check_looks(page, "cube-refused", page.get_by_text("There is no user “nobody”"))
    page.get_by_label("User", exact=True).fill("Ann")
    page.get_by_label("The user may").select_option("write")
    page.get_by_role("button", name="Share", exact=True).click()
    revoke = page.get_by_role("button", name="Revoke the share with Ann")
    check_looks(page, "cube", revoke, page.get_by_text("Memories by kind"))
    revoke.click()
    expect(page.get_by_text("Shared with nobody")).to_be_visible()
    assert not CubeShare.objects.across_namespaces().exists()


def test_a_dump_is_downloaded_and_loaded(open_page, root, world, tmp_path):
    cube = register_cube(EVERYTHING, namespace="harbour", name="The port's", now=timezone.now())
    page = open_page(f"/ops/cubes/{cube.pk}/files/", client=root)
    page.get_by_role("button", name="Dump the cube").click()
    expect(page.get_by_text("Queued")).to_be_visible()
    work()
    # The page finds out by itself.
    link = page.get_by_role("link", name="Download harbour")
    with page.expect_download() as download:
        link.click()
    file = tmp_path / "harbour.memcube"
    download.value.save_as(file)

    page.get_by_label("File of a cube").set_input_files(file)
    page.get_by_role("button", name="Dry run").click()
    work()
    page.get_by_text("would be, if it were loaded").wait_for()
    check_looks(
        page,
        "cube-files",
        page.locator("td").filter(has_text="4 there already"),
        page.get_by_text("of the cube “The port's”"),
    )


def test_a_user_is_erased_with_a_receipt(open_page, root, ann):
    page = open_page("/ops/users/?ns=harbour", client=root)
    check_looks(page, "users", page.get_by_role("button", name="Create the user in harbour"))
    page.get_by_role("link", name="Ann").click()
    check_looks(page, "user", page.get_by_text("oolong"))

    page.get_by_text("Erase…").click()
    page.get_by_text("4 memories of harbour").wait_for()
    page.get_by_label("Reason").fill("asked by mail")
    page.get_by_label("Type the user's name").fill("ann")
    page.get_by_role("button", name="Erase the user for good").click()
    check_looks(page, "user-not-erased", page.get_by_text("type the name exactly"))
    page.get_by_label("Type the user's name").fill("Ann")
    page.get_by_role("button", name="Erase the user for good").click()
    page.get_by_role("heading", name="An erased user").wait_for()
    erasure = Erasure.objects.across_namespaces().get()
    erasing.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now)
    check_looks(page, "user-erased", page.get_by_text("All erased").first)
    page.get_by_role("link", name="What was cleared where").click()
    check_looks(page, "erasure", page.get_by_text("What one person said"))
