"""Files made or damaged to do harm: each is refused with a reason before it uses memory."""

from __future__ import annotations

import pickle
import resource
import struct
import zipfile
from pathlib import Path

import orjson
import pytest

from memory.services.imports import container
from memory.services.imports.detect import recognise
from memory.services.imports.source import UnreadableImport
from memory.services.imports.survey import look_over
from tests.services.imports.exports import archive, chatgpt, claude, write

MB = 1024**2


def refuse(path: Path, reason: str) -> None:
    with pytest.raises(UnreadableImport, match=reason) as refused:
        look_over(recognise(path))
    assert refused.value.status == 400
    assert refused.value.detail == {"field": "file"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (pickle.dumps([1]), "Python pickle"),
        (b"\x1f\x8b\x08rest", "gzip"),
        ("[1]".encode("utf-16"), "cannot be told"),
        ("[1]".encode("utf-16") + b"]", "no whole utf-16"),
        (b"%PDF-1.7", "is a PDF"),
        (b"\x89PNG\0\0", "neither text nor a zip"),
        (orjson.dumps([claude()])[:-9], "cut off"),
        (orjson.dumps([claude("猫的名字")]).replace("名".encode(), "名".encode()[:2]), "some characters are damaged"),
        (b'[{"mapping": {}}, nonsense]', "not valid JSON"),
        (b'[{"mapping": {}}, [' + b"[" * 200 + b"]" * 200 + b"]]", "100 levels deep"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "100 levels deep"),
        (b"[" * 1_000_000, "100 levels deep"),
        (b'{"what": "is this"}', "cannot be told"),
        (b"[]", "cannot be told"),
        (b"[1, 2]", "cannot be told"),
        (b"<html>a page</html>", "cannot be told"),
        (b"PK\x03\x04" + b"x" * 100, "cut off"),
        (b"PK\x05\x06" + b"\0" * 18, "nothing that can be imported"),
    ],
)
def test_refused_with_its_reason(tmp_path, content, reason):
    refuse(write(tmp_path, content), reason)


@pytest.mark.parametrize("name", ["../conversations.json", "/etc/conversations.json", "a/../../b.json", "C:/b.json"])
def test_paths_that_lead_out_of_a_zip(tmp_path, name):
    refuse(write(tmp_path, archive({name: [chatgpt()]}), "a.zip"), "leads out of it")


def test_a_link_in_a_zip(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        link = zipfile.ZipInfo("conversations.json")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
    refuse(path, "leads out of it")


def test_a_zip_bomb(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open("conversations.json", "w") as member:
        for _ in range(100):
            member.write(b" " * MB)
    refuse(path, "200 times its size")
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 50 * MB


def test_a_zip_bomb_of_many_small_files(tmp_path):
    """None of the files is large enough to be noticed alone."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(40):
            made.writestr(f"conversations-{number}.json", b"[" + b" " * MB + orjson.dumps(chatgpt()) + b"]")
    refuse(path, "200 times its size")


def test_many_usual_files_are_no_bomb(tmp_path):
    conversations = [chatgpt(f"c{number}", title=f"{number}" * 50) for number in range(400)]
    members = {f"conversations-{number}.json": conversations for number in range(30)}
    path = write(tmp_path, archive(members), "a.zip")
    with zipfile.ZipFile(path) as made:
        assert sum(entry.file_size for entry in made.infolist()) > container.RATIO_COUNTS_FROM
    assert len(container.list_parts(path)) == 30


def test_a_zip_that_lies_about_its_sizes(tmp_path):
    data = bytearray(archive({"conversations.json": [chatgpt(f"c{number}") for number in range(50)]}))
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 10)
    refuse(write(tmp_path, bytes(data), "a.zip"), "cut off|cannot be unpacked|cannot be read")


def test_a_zip_that_is_damaged_inside(tmp_path):
    data = bytearray(archive({"conversations.json": [chatgpt(f"c{number}") for number in range(50)]}))
    data[60:90] = b"\xff" * 30
    refuse(write(tmp_path, bytes(data), "a.zip"), "cannot be unpacked|not valid JSON|not UTF-8|cut off")


def test_a_zip_with_a_password(tmp_path):
    data = bytearray(archive({"conversations.json": [chatgpt()]}))
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    refuse(write(tmp_path, bytes(data), "a.zip"), "has a password")


def test_a_zip_with_an_endless_directory(tmp_path):
    data = bytearray(archive({"conversations.json": [chatgpt()]}))
    place = data.rfind(b"PK\x05\x06")
    data[place + 12 : place + 16] = struct.pack("<I", 0xFFFFFFF0)
    refuse(write(tmp_path, bytes(data), "a.zip"), "lists its files in")


def test_a_zip_inside_a_zip_of_an_export_is_not_looked_into(tmp_path):
    inner = archive({"conversations.json": [claude()]})
    path = write(tmp_path, archive({"inner.zip": inner, "renamed.json": inner, "a.json": [chatgpt()]}), "a.zip")
    survey = look_over(recognise(path))
    assert (survey.format, survey.turns, survey.parts_left_out["file"]) == ("chatgpt", 3, 2)


def test_zips_inside_zips_that_go_on_and_on(tmp_path):
    inner = archive({"conversations.json": [chatgpt()]})
    for _ in range(container.MAX_LEVELS):
        inner = archive({"inner.zip": inner})
    refuse(write(tmp_path, inner, "a.zip"), "nothing that can be imported")


def test_a_zip_inside_a_zip_that_is_a_bomb(tmp_path):
    """Neither of the two is a zip bomb on its own."""
    inner = archive({"conversations.json": b" " * 15 * MB, "more.json": orjson.dumps([chatgpt()])})
    middle = {f"{number}.zip": inner for number in range(4)}
    assert len(inner) * container.MAX_RATIO < 15 * MB
    refuse(write(tmp_path, archive(middle), "a.zip"), "200 times its size")


@pytest.mark.parametrize("content", [b"no zip", b"", b"PK\x03\x04" + b"x" * 100])
def test_what_is_called_a_zip_and_is_none(tmp_path, content):
    refuse(write(tmp_path, archive({"inner.zip": content}), "a.zip"), "is no zip|cut off")


def test_one_value_larger_than_any_conversation(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.services.imports.json_stream.MAX_ITEM_BYTES", MB)
    content = orjson.dumps([chatgpt(), {"mapping": {}, "title": "x" * (3 * MB)}])
    refuse(write(tmp_path, content), "larger than 1 MB")


def test_many_conversations_are_read_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.services.imports.json_stream.MAX_ITEM_BYTES", MB)
    path = write(tmp_path, [chatgpt(f"c{number}", title="x" * 5000) for number in range(600)])

    assert path.stat().st_size > 3 * MB
    assert look_over(recognise(path)).turns == 1800


def test_a_page_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_ITEM_BYTES", 1000)
    refuse(write(tmp_path, b"<html>Gemini Apps" + b" " * 2000, "MyActivity.html"), "choose JSON|Choose JSON")


def test_a_pickle_in_a_zip_is_not_read(tmp_path):
    refuse(write(tmp_path, archive({"conversations.json": pickle.dumps([1])}), "a.zip"), "neither|nothing that can")
