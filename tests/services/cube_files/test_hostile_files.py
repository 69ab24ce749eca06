"""Files that are not cubes, or were made to do harm, are refused with a reason, and nothing of them is loaded."""

from __future__ import annotations

import base64
import tracemalloc

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import override_settings

from memory.enums import CubeSignature
from memory.services.cube_files import manifest as manifests
from memory.services.cube_files import memtensor
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.load_options import LoadOptions, check_sender
from memory.services.imports.source import UnreadableImport
from tests.services.cube_files.hostile import make, memory_line, write, zipped

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PRIVATE = base64.b64encode(KEY.private_bytes_raw()).decode()
PUBLIC = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()


def refused(path):
    with pytest.raises(UnreadableImport) as refusal:
        open_cube(path).verify()
    return refusal.value.message


CHANGED = b'{"text":"another"}\n'
OTHER = orjson.dumps(memory_line(text="I keep 2 bees behind the house in Porto.")) + b"\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lambda: b"", "empty"),
        (lambda: b"\x80\x04]\x94.", "Python pickle, which is never read"),
        (lambda: b"PK\x03\x04" + b"x" * 100, "cut off"),
        (lambda: zipped({"conversations.json": b"[]"}), "no manifest.json"),
        (lambda: make(manifest={"schema": "memcube/9"}), "reads memcube/1"),
        (lambda: make({"shares": []}), "does not know: shares"),
        (lambda: make(data={"memories": CHANGED}), "not the"),
        (lambda: make(data={"memories": OTHER}),
         "SHA-256"),
        (lambda: make(extra={"activation_memory.pickle": b"\x80\x04."}), "does not name: it was added"),
        (lambda: make(extra={"../../etc/cron.d/x": b"1"}), "leads out of it"),
        (lambda: make(extra={"C:/x": b"1"}), "leads out of it"),
        (lambda: make(extra={f"part-{number}.jsonl": b"" for number in range(40)}), "42 files; 32 are the limit"),
        (lambda: zipped({"manifest.json": b"{}"}), "not the shape"),
        (lambda: zipped({"manifest.json": b"x" * (manifests.MAX_BYTES + 1)}), "larger than 1 MB"),
        (lambda: make({"memories": []}, data={"memories": b"\n" * 50_000_000}), "times its size"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, content, says):
    path = write(tmp_path, content())

    assert says in refused(path)


def test_a_bomb_takes_no_memory(tmp_path):
    path = write(tmp_path, make({"memories": []}, data={"memories": b"a" * 200_000_000}))

    tracemalloc.start()
    refused(path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_line_that_is_no_object(tmp_path):
    content = make()
    reader = open_cube(write(tmp_path, content))
    reader.verify()
    with pytest.raises(UnreadableImport, match=r"line 1, is not a JSON object"):
        list(open_cube(write(tmp_path, make({"memories": [[1]]}))).lines("memories"))


def test_a_manifest_that_was_changed_is_known_by_its_signature(tmp_path):
    whole = open_cube(write(tmp_path, make()))
    assert whole.signature == CubeSignature.OWN

    sealed = orjson.loads(manifests.seal(whole.manifest))
    sealed["manifest"]["namespace_id"] = 7
    with pytest.raises(UnreadableImport, match="signature of the file does not hold"):
        manifests.open_sealed(orjson.dumps(sealed))


def test_a_sender_is_known_by_a_shared_key_or_a_public_one(tmp_path):
    with override_settings(MEMOS_CUBE_KEY="s" * 32):
        shared = make()
        assert open_cube(write(tmp_path, shared)).is_trusted
    assert open_cube(write(tmp_path, shared)).signature == CubeSignature.UNKNOWN

    with override_settings(MEMOS_CUBE_SIGNING_KEY=PRIVATE):
        assert manifests.public_key() == PUBLIC
        signed = make()
    assert open_cube(write(tmp_path, signed)).signature == CubeSignature.UNKNOWN
    with override_settings(MEMOS_CUBE_TRUSTED_KEYS=[PUBLIC]):
        assert open_cube(write(tmp_path, signed)).is_trusted


def test_an_unknown_sender_is_refused_unless_it_is_wanted(tmp_path):
    reader = open_cube(write(tmp_path, make(signed=False)))

    with pytest.raises(UnreadableImport, match="MEMOS_CUBE_TRUSTED_KEYS"):
        check_sender(reader, LoadOptions())
    with pytest.raises(UnreadableImport, match="known sender only"):
        check_sender(reader, LoadOptions(unknown_sender=True, audit=True))
    check_sender(reader, LoadOptions(unknown_sender=True))


def test_of_a_folder_of_memtensor_pickles_are_not_opened(tmp_path):
    memory = {"id": "m1", "memory": "I keep bees.", "metadata": {"status": "activated", "memory_time": "2026-03-01"}}
    config = {"cube_id": "ada", "user_id": "u", "text_mem": {"backend": "general_text", "config": {"api_key": "sk-1"}}}
    folder = {
        "cube/textual_memory.json": orjson.dumps([memory, {**memory, "id": "m2", "metadata": {"status": "deleted"}}]),
        "cube/config.json": orjson.dumps(config),
        "cube/activation_memory.pickle": b"cos\nsystem\n(S'touch /tmp/x'\ntR.",
    }
    path = write(tmp_path, zipped(folder))

    assert memtensor.is_folder(path)
    told = memtensor.describe(path)
    assert told["cube"] == {"id": "ada", "user": "u", "kind": "general_text"}
    assert [(one["name"], "pickle runs" in one["reason"]) for one in told["refused"]] == [
        ("cube/activation_memory.pickle", True)
    ]
    assert [turn.memory.text for turn in memtensor.read_turns(path)] == ["I keep bees."]

    tree = {"nodes": [memory], "edges": []}
    vectors = [{"id": "m1", "vector": [0.1], "payload": {"memory": "I keep bees.", "metadata": {}}}]
    for content in (tree, vectors):
        path = write(tmp_path, orjson.dumps(content))
        assert [turn.memory.text for turn in memtensor.read_turns(path)] == ["I keep bees."]
