"""`manage.py import_document`: refusals first, then a file that is read."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from memory.models import Document, DocumentFile, Job, Namespace


def run(path, *options):
    said = io.StringIO()
    call_command("import_document", str(path), "--namespace", "harbour", *options, stdout=said)
    return said.getvalue()


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (None, (), "No such file"),
        (b"\x7fELF\0", (), "none of the supported types"),
        (b"text", ("--metadata", "["), "no JSON"),
        (b"text", ("--metadata", "[]"), "JSON object"),
        (b"<html><script>1</script></html>", (), "there is no text in it"),
    ],
)
def test_a_refusal_says_why(db, tmp_path, content, options, says):
    path = tmp_path / "given.txt" if content != b"<html><script>1</script></html>" else tmp_path / "given.html"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(CommandError, match=says):
        run(path, *options)
    assert not Document.objects.across_namespaces().exists()
    # A file that was begun is kept, with why it was refused, and its namespace with it.
    assert Namespace.objects.exists() == DocumentFile.objects.across_namespaces().exists()
    assert Namespace.objects.exists() == (says == "there is no text in it")


def test_a_file_is_stored_once(db, tmp_path):
    path = tmp_path / "tides.md"
    path.write_text("# Tides\n\nThe tide turns at noon.\n")

    said = run(path, "--id", "tides", "--metadata", '{"year": 2026}', "--keep-original")
    assert "tides, version 1, 1 chunks, read by memos 2" in said
    assert run(path, "--id", "tides", "--metadata", '{"year": 2026}', "--keep-original") == said
    assert Document.objects.across_namespaces().get().metadata == {"year": 2026}
    assert DocumentFile.objects.across_namespaces().count() == 1
    assert not Job.objects.across_namespaces().filter(kind="read_document_file").exists()
