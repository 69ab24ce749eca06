"""Before `zipfile` reads a zip's directory, the directory is known to be bounded and to match its end record."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory.models import CubeFile, MemoryImport
from memory.parsers import archive
from memory.parsers.refusal import FileRefused
from memory.services.cube_files import memtensor
from memory.services.cube_files import requests as cube_requests
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.services.imports import requests as import_requests
from memory.services.imports.container import list_parts
from memory.services.imports.source import UnreadableImport
from memory.zip_directory import UnsafeDirectory, check_directory

MB = 1024**2
ENTRY = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
START = b"PK\x03\x04" + bytes(27)
LIMITS = {"most": 1_000, "most_bytes": MB}


def end(entries: int, size: int, offset: int = len(START)) -> bytes:
    return b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, entries, entries, size, offset, 0)


def large_end(entries: int, size: int, *, named: int | None = None, offset: int = len(START)) -> bytes:
    record = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, entries, entries, size, offset)
    return record + b"PK\x06\x07" + struct.pack("<LQL", 0, offset + size if named is None else named, 1)


def many(entries: int, *, said: int | None = None) -> bytes:
    """Return a zip64 file with `entries` entries, as programs write for more than 65,535."""
    size = entries * len(ENTRY)
    return START + ENTRY * entries + large_end(entries if said is None else said, size) + end(0xFFFF, 0xFFFFFFFF)


def zipped(names: list[str], *, before: bytes = b"", comment: bytes = b"") -> bytes:
    stream = io.BytesIO()
    stream.write(before)
    with zipfile.ZipFile(stream, "a" if before else "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, b"[]")
        made.comment = comment
    return stream.getvalue()


@contextmanager
def bounded(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most


@pytest.fixture
def write(tmp_path):
    def write(content: bytes) -> Path:
        path = tmp_path / "given"
        path.write_bytes(content)
        return path

    return write


MANY = 600_000
READERS = {
    "imports": (list_parts, "has 600000 files; 200000 are the limit. An export has no more"),
    "cubes": (open_cube, "has 600000 files; 32 are the limit. A cube's file has no more"),
    "folders of MemTensor": (memtensor.is_folder, "has 600000 files; 1000 are the limit. A cube, as a file or a fold"),
}


@pytest.mark.parametrize(("reader", "says"), READERS.values(), ids=READERS)
@pytest.mark.parametrize("said", [None, 3], ids=["said", "lied about"])
def test_a_million_tiny_entries_take_no_memory(write, reader, says, said):
    path = write(many(MANY, said=said))

    with bounded(MB), pytest.raises(UnreadableImport) as refused:
        reader(path)
    assert (says if said is None else "lists ") in refused.value.message


def test_documents_refuse_by_the_same_check(write):
    with bounded(MB), pytest.raises(FileRefused) as refused:
        archive.list_names(write(many(6_000)))
    assert (refused.value.reason, "6000 files; 5000 are the limit" in refused.value.says) == ("bomb", True)
    with pytest.raises(FileRefused) as refused:
        archive.list_names(write(many(6_000, said=3)))
    assert refused.value.reason == "damaged"


def test_the_routes_refuse_it_and_keep_nothing(alice):
    content = many(MANY)
    fields = {"namespace": alice.scope.namespace}
    for path, says in (("/v1/imports", "An export has no more"), ("/v1/cubes/load", "A cube, as a file or a folder,")):
        answer = alice.client.post(path, {**fields, "file": SimpleUploadedFile("a.zip", content)})

        assert answer.status_code == 400
        message = answer.json()["error"]["message"]
        assert "The zip has 600000 files" in message
        assert says in message
    assert not MemoryImport.objects.across_namespaces().exists()
    assert not CubeFile.objects.across_namespaces().exists()


def test_what_the_routes_call_takes_no_memory(alice):
    content, now = many(MANY), timezone.now()
    pieces = [content[place : place + MB] for place in range(0, len(content), MB)]

    with bounded(2 * MB), pytest.raises(UnreadableImport):
        import_requests.start_import(alice.scope, import_requests.ImportUpload("a.zip", iter(pieces)), now=now)
    upload = cube_requests.CubeUpload("a.zip", iter(pieces))
    with bounded(2 * MB), pytest.raises(UnreadableImport):
        cube_requests.start_load(alice.scope, upload, options=LoadOptions(), dry_run=False, now=now)


@pytest.mark.parametrize(
    "content",
    [
        START + ENTRY * 9 + end(8, 9 * len(ENTRY)),
        START + ENTRY * 9 + end(10, 9 * len(ENTRY)),
        START + ENTRY * 9 + end(9, 9 * len(ENTRY) - 1),
        START + ENTRY * 9 + end(9, 9 * len(ENTRY) + 1),
        START + ENTRY * 9 + end(9, 10_000),
        START + ENTRY * 9 + end(9, 9 * len(ENTRY), offset=500),
        START + ENTRY * 9 + large_end(8, 9 * len(ENTRY)) + end(9, 9 * len(ENTRY)),
        START + ENTRY * 9 + large_end(9, 9 * len(ENTRY), named=4) + end(9, 9 * len(ENTRY)),
        START + ENTRY + b"x" * len(ENTRY) + end(2, 2 * len(ENTRY)),
    ],
    ids=[
        "more than said", "fewer than said", "fewer bytes", "more bytes", "bytes before the file", "another place",
        "the larger end lies", "the larger end is elsewhere", "no entry",
    ],
)  # fmt: skip
def test_a_directory_that_lies_is_refused(write, content):
    path = write(content)

    with pytest.raises(UnsafeDirectory, match="lists other files than its end says"):
        check_directory(path, **LIMITS)
    for reader in (list_parts, open_cube):
        with pytest.raises(UnreadableImport, match="Download it again"):
            reader(path)


@pytest.mark.parametrize("content", [START, START + b"PK\x05\x06", ENTRY + b"PK\x06\x07" + bytes(16) + end(1, 47)])
def test_one_that_is_cut_off_is_refused(write, content):
    with pytest.raises(UnsafeDirectory, match="is cut off"):
        check_directory(write(content), **LIMITS)


def test_a_directory_of_too_many_bytes_is_refused(write):
    with pytest.raises(UnsafeDirectory, match=r"in 1048577 bytes; 1048576 are the limit") as refused:
        check_directory(write(START + end(9, MB + 1)), **LIMITS)
    assert refused.value.is_too_large


@pytest.mark.parametrize(
    "content",
    [
        zipped([]),
        zipped(["a.json", "folder/", "folder/ü.json"]),
        zipped(["a.json"], comment=b"made at home" * 5_000),
        zipped(["a.json"], before=b"a program that unpacks itself"),
        zipped([f"{number}.json" for number in range(LIMITS["most"])]),
        many(999),
    ],
    ids=["empty", "folders", "comment", "behind a program", "as many as may be", "the larger form"],
)
def test_what_programs_write_passes(write, content):
    path = write(content)

    check_directory(path, **LIMITS)
    with zipfile.ZipFile(path) as read:
        assert len(read.infolist()) <= LIMITS["most"]


def test_a_large_export_is_read(write):
    """The zip has more parts than the usual end record allows, written by zipfile itself."""
    path = write(zipped([f"{number}.json" for number in range(70_000)]))

    assert len(list_parts(path)) == 70_000
