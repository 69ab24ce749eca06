"""Imports in the browser: a file is chosen, looked at in place, taken in and followed."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import MemoryImport
from tests.e2e.conftest import check_looks
from tests.ops.test_imports_page import finish
from tests.services.imports.exports import archive, chatgpt


def test_a_file_is_looked_at_and_then_taken_in(open_page, root, world):
    page = open_page("/ops/imports/", client=root)
    expect(page.get_by_text("Choose a namespace above")).to_be_visible()
    page.goto("/ops/imports/?ns=harbour")
    page.get_by_role("button", name="Start the import").click()
    check_looks(page, "imports-refused", page.locator("#wrong-file"), page.get_by_text("Nothing was imported yet"))
    content = archive({"conversations.json": [chatgpt()]})
    file = {"name": "export.zip", "mimeType": "application/zip", "buffer": content}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    check_looks(page, "imports-preview", page.get_by_text("Nothing is stored yet."))

    page.get_by_role("button", name="Start the import").click()
    page.wait_for_url("**/ops/imports/*-*/**")
    check_looks(page, "import", page.get_by_text("export.zip"), page.get_by_role("button", name="Cancel the import"))
    finish(MemoryImport.objects.in_scope(world.harbour).get())
    page.get_by_text("3 of 3 turns processed").wait_for()
    page.get_by_role("link", name="Imports").last.click()
    check_looks(page, "imports", page.get_by_role("link", name="export.zip"))
