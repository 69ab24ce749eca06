"""Imports in the browser: a file is chosen, previewed on the same page, imported and followed."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import MemoryImport, Upload
from memory.services.imports import uploads
from ops.views import uploads as upload_views
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


def test_a_large_file_is_sent_in_parts(open_page, root, world, monkeypatch):
    monkeypatch.setattr(upload_views, "ABOVE_BYTES", 100)
    monkeypatch.setattr(uploads, "PART_BYTES", 256)
    monkeypatch.setattr(uploads, "_SLICE_BYTES", 64)
    page = open_page("/ops/imports/?ns=harbour", client=root)
    content = archive({"conversations.json": [chatgpt(f"c{number}") for number in range(5)]})
    assert len(content) > 3 * 256
    file = {"name": "export.zip", "mimeType": "application/zip", "buffer": content}
    page.get_by_label("File", exact=True).set_input_files(file)
    check_looks(page, "imports-uploaded", page.get_by_text("The file is uploaded."))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()

    page.get_by_role("button", name="Start the import").click()
    page.wait_for_url("**/ops/imports/*-*/**")
    row = MemoryImport.objects.in_scope(world.harbour).get()
    assert (row.name, row.size) == ("export.zip", len(content))
    assert Upload.objects.across_namespaces().get().used_by == row.id
    finish(row)
    row.refresh_from_db()
    assert row.new == 15


def test_an_upload_that_is_refused_says_why(open_page, root, world, watched, monkeypatch, settings):
    monkeypatch.setattr(upload_views, "ABOVE_BYTES", 100)
    settings.MEMOS_MAX_UPLOAD_BYTES = 200
    page = open_page("/ops/imports/?ns=harbour", client=root)
    watched.expected.append("400")
    file = {"name": "export.zip", "mimeType": "application/zip", "buffer": b"x" * 300}
    page.get_by_label("File", exact=True).set_input_files(file)
    expect(page.get_by_text("200 are the limit (MEMOS_MAX_UPLOAD_BYTES)")).to_be_visible()
    expect(page.get_by_role("button", name="Preview")).to_be_enabled()
