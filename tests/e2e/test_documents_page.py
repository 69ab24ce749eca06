"""Documents in the browser: a file is uploaded, followed until it has chunks, read again, and erased with a receipt."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import DocumentFile
from tests.e2e.conftest import check_looks
from tests.ops.test_documents_page import NOTE, finish


def test_a_file_is_followed_to_its_chunks_and_erased(open_page, root, world):
    page = open_page("/ops/documents/?ns=harbour", client=root)
    page.get_by_role("button", name="Read the file").click()
    check_looks(page, "documents", page.get_by_text("Choose a file."), page.get_by_text("There are no documents"))
    file = {"name": "tides.md", "mimeType": "text/markdown", "buffer": NOTE}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Keep the original").check()
    page.get_by_role("button", name="Read the file").click()
    check_looks(page, "document-file", page.get_by_text("Received, then read, then stored"))
    finish(DocumentFile.objects.in_scope(world.harbour).get())
    page.get_by_role("link", name="Open the document").click()
    check_looks(page, "document", page.get_by_text("page 2, Berths").first)
    page.get_by_role("button", name="Read the original again").click()
    page.get_by_text("Received, then read, then stored").wait_for()
    finish(DocumentFile.objects.in_scope(world.harbour).latest("id"))
    page.get_by_role("link", name="Open the document").click()

    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text("Nothing brings them back")).to_be_hidden()
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("button", name="Erase the document").click()
    expect(page.get_by_role("heading", name="Erasure")).to_be_visible()
