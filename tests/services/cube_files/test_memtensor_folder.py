"""The command and the route load a cube's folder from MemTensor's MemOS into the database."""

from __future__ import annotations

from io import StringIO

import orjson
import pytest
from django.core.management import call_command

from memory.models import Memory
from tests.api.test_cube_files import load_whole
from tests.services.cube_files.hostile import write, zipped

TEXTS = ["I keep bees behind the house in Porto.", "My sister Ana moved to Lisbon in May."]
MEMORIES = [
    {
        "id": f"m{number}",
        "memory": text,
        "metadata": {"status": "activated", "memory_time": "2026-03-01", "tags": ["a"]},
    }
    for number, text in enumerate(TEXTS)
]
BARE = {"id": "m8", "metadata": {"status": "activated"}}
GONE = {"id": "m9", "memory": "I sold the bees.", "metadata": {"status": "deleted"}}
FOLDER = zipped(
    {
        "cube/textual_memory.json": orjson.dumps([*MEMORIES, GONE, BARE]),
        "cube/config.json": orjson.dumps({"cube_id": "ada", "user_id": "u"}),
        "cube/activation_memory.pickle": b"cos\nsystem\n(S'touch /tmp/x'\ntR.",
    }
)


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["command", "route"])
def test_its_active_memories_are_stored_once_with_their_dates(alice, tmp_path, way):
    path = write(tmp_path, FOLDER)
    for again in range(2):
        if way == "command":
            told = StringIO()
            call_command("load_cube", str(path), "--namespace", "alice", "--unknown-sender", stdout=told, stderr=told)
            assert "1 left_out" in told.getvalue()
            assert "memory 4" in told.getvalue()
        else:
            found = load_whole(alice, FOLDER)
            assert (found["state"], found["problem"], found["manifest"]["cube"]["id"]) == ("done", None, "ada")
            assert [one["name"] for one in found["manifest"]["refused"]] == ["cube/activation_memory.pickle"]
            kept_out = {"left_out": 1, "unreadable": 1}
            assert found["counts"] == {"memories": {"present" if again else "new": 2, **kept_out}}
            assert (found["done"], found["total"]) == (2, 2)
            assert [one["place"] for one in found["faults"]] == ["memories, memory 4"]
        rows = Memory.objects.in_scope(alice.scope)
        assert sorted(rows.values_list("text", flat=True)) == TEXTS
        assert {f"{one.occurred_at:%Y-%m-%d}" for one in rows} == {"2026-03-01"}
        assert all(one.metadata["tags"] == ["a"] for one in rows)
