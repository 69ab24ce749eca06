"""The table of word embeddings returns the file's rows, whatever it has cached."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memory.providers.minilm.weights import HIDDEN, KEPT_WORDS, VOCABULARY, WeightsError, WordTable


@pytest.fixture(scope="module")
def embeddings():
    return np.random.default_rng(5).random((VOCABULARY, HIDDEN), dtype=np.float32)


@pytest.fixture(scope="module")
def file(embeddings, tmp_path_factory):
    file = tmp_path_factory.mktemp("words") / "words.npy"
    np.save(file, embeddings)
    return file


def assert_same(table, embeddings, ids):
    places, rows = table.find(ids)
    assert places.shape == ids.shape
    assert places.dtype == np.int32
    assert (rows[places] == embeddings[ids]).all()


def test_rows_are_those_of_the_file_also_after_more_words_than_are_kept(file, embeddings):
    table = WordTable(file)
    chance = np.random.default_rng(1)
    for _ in range(60):
        assert_same(table, embeddings, chance.integers(0, VOCABULARY, (4, 60), dtype=np.int32))


def test_a_run_of_more_words_than_are_kept_has_all_of_them(file, embeddings):
    table = WordTable(file)
    assert_same(table, embeddings, np.arange(KEPT_WORDS + 1, dtype=np.int32).reshape(1, -1))
    assert_same(table, embeddings, np.arange(VOCABULARY, dtype=np.int32).reshape(2, -1))


def test_the_first_and_the_last_word_and_none(file, embeddings):
    table = WordTable(file)
    assert_same(table, embeddings, np.array([[0, VOCABULARY - 1]], dtype=np.int32))
    assert_same(table, embeddings, np.zeros((0, 4), dtype=np.int32))


def test_threads_do_not_take_rows_from_each_other(file, embeddings):
    table = WordTable(file)

    def work(seed):
        chance = np.random.default_rng(seed)
        for _ in range(40):
            ids = chance.integers(0, VOCABULARY, (2, 100), dtype=np.int32)
            places, rows = table.find(ids)
            # Concurrent requests must not change these rows.
            table.find(chance.integers(0, VOCABULARY, (1, 200), dtype=np.int32))
            assert (rows[places] == embeddings[ids]).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@pytest.mark.parametrize("content", [b"", b"not a table", b"\x93NUMPY\x01\x00"])
def test_what_is_no_table_is_refused(tmp_path, content):
    file = tmp_path / "words.npy"
    file.write_bytes(content)
    with pytest.raises(WeightsError, match="damaged"):
        WordTable(file)


def test_a_table_that_is_cut_short_is_refused(file, tmp_path):
    short = tmp_path / "words.npy"
    short.write_bytes(file.read_bytes()[:-HIDDEN])
    with pytest.raises(WeightsError, match="damaged"):
        WordTable(short)


def test_a_table_that_is_cut_short_while_it_is_used_is_no_row_of_zeros(file, tmp_path):
    short = tmp_path / "words.npy"
    short.write_bytes(file.read_bytes())
    table = WordTable(short)
    with short.open("r+b") as changed:
        changed.truncate(1_000)
    with pytest.raises(WeightsError, match="damaged"):
        table.find(np.array([[VOCABULARY - 1]], dtype=np.int32))
