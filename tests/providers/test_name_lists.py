from __future__ import annotations

import shutil
from dataclasses import fields

import pytest

from memory.providers import name_lists
from memory.providers.gazetteer import read_lexicon
from memory.providers.name_lists import filename, lexicon, write


@pytest.fixture(scope="module")
def packages():
    """What the packages say: to read it takes seconds."""
    return read_lexicon()


@pytest.fixture(scope="module")
def file(tmp_path_factory, packages):
    target = tmp_path_factory.mktemp("lists") / filename()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_lists, "read_lexicon", lambda: packages)
        write(target)
    return target


@pytest.fixture
def folder(tmp_path, settings):
    settings.MEMOS_MODEL_DIR = tmp_path / "models"
    settings.MEMOS_MODEL_DIR.mkdir()
    return settings.MEMOS_MODEL_DIR


def _knows_names(words) -> bool:
    return "berlin" in words.places and "ada" in words.first_names and "北京" in words.chinese_names


def test_the_file_says_what_the_packages_say(file, folder, packages):
    shutil.copy(file, folder)
    mapped, read = lexicon(), packages
    every = set().union(*(getattr(read, field.name) for field in fields(read)))
    assert len(every) > 200_000
    for field in fields(read):
        of_file = getattr(mapped, field.name)
        assert {word for word in every if word in of_file} == getattr(read, field.name), field.name
        assert "" not in of_file
        assert "no such word" not in of_file


def test_the_file_is_made_once_and_by_another_process(folder, monkeypatch):
    monkeypatch.setattr(name_lists, "read_lexicon", lambda: pytest.fail("read in this process"))
    assert _knows_names(lexicon())
    assert {path.name for path in folder.iterdir()} == {filename(), f"{filename()}.lock"}
    monkeypatch.setattr(name_lists.subprocess, "run", lambda *_, **__: pytest.fail("made again"))
    name_lists._open.cache_clear()
    assert _knows_names(lexicon())


def test_a_damaged_file_is_made_again(file, folder, caplog):
    for size in (0, file.stat().st_size - 1):
        name_lists._open.cache_clear()
        (folder / filename()).write_bytes(file.read_bytes()[:size])
        assert _knows_names(lexicon())
        assert (folder / filename()).read_bytes() == file.read_bytes()
    assert caplog.messages.count("a damaged file is rebuilt") == 2


def test_where_no_file_can_be_made_the_lists_are_read_into_memory(tmp_path, settings, caplog, packages, monkeypatch):
    monkeypatch.setattr(name_lists, "read_lexicon", lambda: packages)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    settings.MEMOS_MODEL_DIR = tmp_path / "file" / "models"
    assert _knows_names(lexicon())
    assert "let MEMOS_MODEL_DIR be a folder that this user may write" in caplog.text


def test_a_write_that_fails_leaves_no_half_a_file(tmp_path, monkeypatch, packages):
    monkeypatch.setattr(name_lists, "read_lexicon", lambda: packages)
    monkeypatch.setattr("memory.providers.name_lists.os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write(tmp_path / filename())
    assert list(tmp_path.iterdir()) == []
