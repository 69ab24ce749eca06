"""Reading Chinese through the dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.errors import EmbeddingUnavailable
from memory.providers import cedict
from memory.providers.cedict import Dictionary
from memory.providers.gloss import add_glosses, unread_share

PARTICLES = "的了吗呢吧啊"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dictionary")


@pytest.fixture(scope="module")
def dictionary(folder: Path) -> Dictionary:
    return Dictionary(folder)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("数据库", "database"),
        ("我的猫不喜欢狗", "I cat no like dog"),
    ],
)
def test_words_become_their_first_meaning(dictionary, text, english):
    assert add_glosses(text, dictionary) == english


@pytest.mark.parametrize(("traditional", "simplified"), [("資料庫", "资料库"), ("會議", "会议"), ("圖書館", "图书馆")])
def test_traditional_and_simplified_read_alike(dictionary, traditional, simplified):
    assert add_glosses(traditional, dictionary) == add_glosses(simplified, dictionary) != ""
    assert unread_share(traditional, dictionary) == 0.0


def test_particles_are_left_out_and_count_as_read(dictionary):
    assert add_glosses(PARTICLES, dictionary) == ""
    assert unread_share(PARTICLES, dictionary) == 0.0
    assert add_glosses("会议吗", dictionary) == add_glosses("会议", dictionary)


@pytest.mark.parametrize("word", ["不", "没", "别", "我", "你", "他"])
def test_negations_and_pronouns_are_kept(dictionary, word):
    assert add_glosses(word, dictionary)
    assert add_glosses(f"{word}，会议", dictionary) != add_glosses("会议", dictionary)


def test_other_scripts_around_stay_as_they_are(dictionary):
    read = add_glosses("周五用Redis 7.2做限流，v1.2.3", dictionary)
    assert "Redis 7.2" in read
    assert read.endswith(",v1.2.3")
    assert read.isascii()


@pytest.mark.parametrize(
    "text", ["", "hello", "Où est Zoë?", "カタカナ と ひらがな", "한국어 문장", "😀", "naïve café"]
)
def test_a_text_without_chinese_is_the_very_same(dictionary, text):
    assert add_glosses(text, dictionary) is text


def test_kana_and_hangul_are_unread(dictionary):
    assert unread_share("ひらがな", dictionary) == 1.0
    assert unread_share("한국", dictionary) == 1.0
    assert unread_share("会议ひら", dictionary) == 0.5
    assert unread_share("hello", dictionary) == 0.0


def test_a_character_that_no_word_covers_is_dropped_and_unread(dictionary):
    unknown = "\u4dbe"
    assert dictionary.words_of(unknown) == {}
    assert add_glosses(f"会议{unknown}", dictionary) == add_glosses("会议", dictionary)
    assert unread_share(f"会{unknown}", dictionary) == 0.5


def test_an_entry_that_only_points_elsewhere_is_no_meaning(dictionary):
    assert not any("variant of" in meaning for meaning in cedict.entries().values())


def test_do_not_is_what_speech_means(dictionary):
    assert add_glosses("别打电话", dictionary).startswith("do not ")
    assert add_glosses("別打電話", dictionary).startswith("do not ")
    assert add_glosses("告别", dictionary) == add_glosses("告別", dictionary) != "tell do not"


def test_the_longest_word_is_taken(dictionary):
    assert add_glosses("图书馆", dictionary) == "library"
    assert add_glosses("图书", dictionary) != add_glosses("图书馆", dictionary)


def test_the_file_says_what_the_package_says(dictionary):
    package = cedict.entries()
    assert len(package) > 150_000
    by_character = {word[0] for word in package}
    assert {word: gloss for first in by_character for word, gloss in dictionary.words_of(first).items()} == package


def test_the_file_is_made_once(dictionary, folder, monkeypatch):
    monkeypatch.setattr(cedict, "entries", lambda: pytest.fail("read again"))
    assert Dictionary(folder).words_of("会") == dictionary.words_of("会")
    assert [path.suffix for path in folder.iterdir() if path.suffix != ".lock"] == [".txt"]


def test_a_damaged_file_is_removed_and_made_again(dictionary, folder, tmp_path):
    (whole,) = folder.glob("*.txt")
    damaged = tmp_path / whole.name
    for content in (whole.read_bytes()[:-100], b"no index\nnothing", b"[1]\n"):
        damaged.write_bytes(content)
        with pytest.raises(EmbeddingUnavailable, match="was damaged and is removed"):
            Dictionary(tmp_path)
        assert not damaged.exists()
    assert Dictionary(tmp_path).words_of("会") == dictionary.words_of("会")


def test_a_folder_that_cannot_be_made_is_unavailability(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(EmbeddingUnavailable, match="dictionary cannot be prepared in"):
        Dictionary(tmp_path / "file" / "models")


def test_a_write_that_fails_leaves_no_half_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.providers.cedict.os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(EmbeddingUnavailable, match="full"):
        Dictionary(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == []
