"""bench/small_namespaces: complete frames, separate halves, and foreign questions that are foreign."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "small_namespaces"
LANGUAGES = ("en", "zh")


@pytest.fixture(scope="module")
def small() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_small_namespaces", FOLDER / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_frame_has_a_memory_and_questions(small, language):
    *told, last = small.frames(language)

    assert len(told) >= 48
    for frame in told:
        assert frame.memory, frame.name
        assert [len(frame.answered), len(frame.near), len(frame.elsewhere)] == [2, 1, 0], frame.name
    assert len(last.elsewhere) == 20
    texts = [text for frame in told for text in (frame.memory, *frame.answered, *frame.near)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_halves_share_no_frame_and_no_question(small, language):
    made = small.namespaces(language)

    def said(half: str) -> set[str]:
        mine = [one for one in made if one.half == half]
        return {text for one in mine for text in (*one.memories, *one.answered, *one.near, one.foreign, one.elsewhere)}

    assert said(small.LEARN).isdisjoint(said(small.REPORT))
    for half in (small.LEARN, small.REPORT):
        assert sum(len(one.answered) for one in made if one.half == half) >= 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_namespace_holds_what_it_answers_and_not_what_is_foreign_to_it(small, language):
    memory_of = {text: frame.memory for frame in small.frames(language) for text in frame.answered}

    for one in small.namespaces(language):
        assert len(set(one.memories)) == len(one.memories) in small.SIZES
        assert {memory_of[text] for text in one.answered} == {one.memories[one.place]}
        assert memory_of[one.foreign] not in one.memories


def test_namespaces_are_the_same_every_time(small):
    assert small.namespaces("en") == small.namespaces("en")


def test_a_line_that_belongs_to_no_frame_is_named(small, tmp_path, monkeypatch):
    (tmp_path / "xx.txt").write_text("[one]\nA memory.\nAnother one.\n")
    monkeypatch.setattr(small, "__file__", str(tmp_path / "__init__.py"))

    with pytest.raises(ValueError, match=r"xx\.txt line 3: a frame has one memory"):
        small.frames("xx")
