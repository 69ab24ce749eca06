"""Array parameters that MemOS writes itself arrive like those of psycopg."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import DataError, connection
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memory.models.arrays import halfvecs, text_array, vector_array
from memory.models.sql import fetch

pytestmark = pytest.mark.django_db

SENT = "SELECT one::text FROM unnest(%(vectors)b::halfvec[]) WITH ORDINALITY AS sent (one, place) ORDER BY place"
WRITTEN = (
    "SELECT one::halfvec::text FROM unnest(%(vectors)s::text[]) WITH ORDINALITY AS sent (one, place) ORDER BY place"
)


CHARACTERS = st.sampled_from('\\"{},\n\t NUL') | st.characters(exclude_characters="\0", exclude_categories=["Cs"])


@settings(deadline=None, max_examples=300)
@given(texts=st.lists(st.text(CHARACTERS)))
@example(texts=[])
@example(texts=[""])
@example(texts=["NULL", "", "\\", '"', '\\"', "{}", " a ", "null"])
def test_texts_arrive_as_they_are(texts):
    assert fetch("SELECT %(texts)s::text[]", {"texts": text_array(texts)}, prepared=False) == [(texts,)]


@settings(deadline=None, max_examples=100)
@given(
    vectors=st.tuples(st.integers(1, 4), st.integers(1, 400)).flatmap(
        lambda shape: arrays(np.float32, shape, elements=st.floats(-65_000, 65_000, width=32))
    )
)
def test_vectors_arrive_as_those_that_are_written_as_text(vectors):
    sent = fetch(SENT, {"vectors": halfvecs(vectors)}, prepared=False)
    written = fetch(WRITTEN, {"vectors": vector_array(vectors)}, prepared=False)
    assert len(sent) == len(vectors)
    assert sent == written


def test_the_smallest_values_and_those_between_two_that_can_be_stored():
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (halves[:-1] + halves[1:]) / 2
    vectors = np.concatenate([halves[1:], between, -between]).reshape(3, -1)
    sent = fetch(SENT, {"vectors": halfvecs(vectors)}, prepared=False)
    assert sent == fetch(WRITTEN, {"vectors": vector_array(vectors)}, prepared=False)


def test_none():
    assert fetch(SENT, {"vectors": halfvecs(np.empty((0, 384), np.float32))}, prepared=False) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, 70_000.0])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_a_value_that_cannot_be_stored_is_an_error(value):
    with pytest.raises(DataError):
        fetch(SENT, {"vectors": halfvecs(np.array([[0.5, value]], np.float32))}, prepared=False)


@pytest.mark.django_db(transaction=True)
def test_on_a_new_connection():
    vectors = np.array([[0.5, -0.25]], np.float32)
    before = fetch(SENT, {"vectors": halfvecs(vectors)}, prepared=True)
    connection.close()
    assert fetch(SENT, {"vectors": halfvecs(vectors)}, prepared=True) == before == [("[0.5,-0.25]",)]
