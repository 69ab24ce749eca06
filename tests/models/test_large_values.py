"""Parts of files are stored unchanged, and connections keep no copies of them."""

from __future__ import annotations

import gc
import tracemalloc
import uuid

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from memory.models import ImportPart, UploadPart
from memory.models.large_values import add_part
from memory.postgresql import reach
from memory.postgresql.base import open_connection

MEGABYTE = 1024**2


def test_bytes_come_back_as_they_went(alice):
    upload_id = uuid.uuid4()
    for number, data in enumerate((b"", b"\0\xff'\\x00%s", bytes(range(256)) * 4096)):
        add_part(UploadPart, namespace_id=alice.scope.namespace_id, upload_id=upload_id, number=number, data=data)

    stored = UploadPart.objects.in_scope(alice.scope).filter(upload_id=upload_id).order_by("number")
    assert [bytes(part.data) for part in stored] == [b"", b"\0\xff'\\x00%s", bytes(range(256)) * 4096]


def test_a_part_that_is_there_stays(alice):
    named = {"namespace_id": alice.scope.namespace_id, "import_id": uuid.uuid4(), "number": 0}
    add_part(ImportPart, **named, data=b"a")
    with pytest.raises(IntegrityError), transaction.atomic():
        add_part(ImportPart, **named, data=b"b")

    assert bytes(ImportPart.objects.in_scope(alice.scope).get().data) == b"a"


def test_nobody_stores_one_beyond_their_reach(alice, bob):
    named = {"upload_id": uuid.uuid4(), "number": 0, "data": b"a"}
    if not open_connection().is_held():
        pytest.skip("Row-level security does not hold for this login.")
    with reach.within(alice.scope.namespace_id):
        add_part(UploadPart, namespace_id=alice.scope.namespace_id, **named)
        with pytest.raises(DatabaseError), transaction.atomic():
            add_part(UploadPart, namespace_id=bob.scope.namespace_id, **named)


def test_a_connection_keeps_nothing_of_what_went_through(alice):
    """psycopg keeps the last hundred texts of statements, with what Django writes into them."""
    data, upload_id = b"\xff" * MEGABYTE, uuid.uuid4()
    add_part(UploadPart, namespace_id=alice.scope.namespace_id, upload_id=upload_id, number=0, data=data)
    tracemalloc.start()
    try:
        for number in range(1, 21):
            add_part(UploadPart, namespace_id=alice.scope.namespace_id, upload_id=upload_id, number=number, data=data)
        gc.collect()
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < MEGABYTE
    assert most < 4 * MEGABYTE
