"""The cache of memories that were read as hits."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from memory.retrieval.columns import kept as kept_module
from memory.retrieval.columns.kept import LONGEST_KEPT, KeptMemories
from memory.retrieval.hit_memory import HitMemory

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def memory(number: int, text: str = "The kiln glows.") -> HitMemory:
    return HitMemory(uuid.UUID(int=number), "s1", 1, "user", "Ann", text, {}, "L2", NOW, NOW, 0.5, 4)


def test_a_memory_is_found_by_the_row_that_it_was_made_of_and_no_other():
    kept, known = KeptMemories(), memory(1)
    row = (known.id, known.text, '[["later"]]')
    kept.keep_made_of(row, known)

    assert kept.find_made_of((known.id, known.text, '[["later"]]')) is known
    assert kept.find_made_of((known.id, known.text, None)) is None
    assert kept.find_made_of((uuid.UUID(int=2), known.text, '[["later"]]')) is None
    assert kept.get([known.id_text]) == {}, "it has to be read again"


def test_what_changed_is_dropped_with_its_row_and_takes_no_room():
    kept = KeptMemories()
    for number in (1, 2):
        known = memory(number)
        kept.keep([known], since=kept.moment)
        kept.keep_made_of((known.id,), known)
        kept.keep_made_of((known.id, "anew"), known)
    half = kept.bytes // 2
    kept.forget(memory(1).id_text)

    assert kept.bytes == half
    assert kept.find_made_of((memory(1).id, "anew")) is None
    assert kept.find_made_of((memory(2).id, "anew")) is not None
    kept.forget(memory(2).id_text)
    assert (kept.bytes, len(kept)) == (0, 0)


def test_rows_make_room_for_those_that_were_read_later(monkeypatch):
    monkeypatch.setattr(kept_module, "MOST_KEPT", 2)
    kept = KeptMemories()
    for number in (1, 2, 3):
        kept.keep_made_of((memory(number).id,), memory(number))
    long = memory(4, "x" * (LONGEST_KEPT + 1))
    kept.keep_made_of((long.id,), long)

    found = [number for number in (1, 2, 3, 4) if kept.find_made_of((uuid.UUID(int=number),))]
    assert found == [2, 3]
