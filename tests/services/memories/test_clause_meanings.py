"""Vectors are made of clauses when it is asked how near they are, and once in a while."""

from __future__ import annotations

import numpy as np
import pytest
from django.utils import timezone

from memory.caches import for_seconds
from memory.governance.likelihood import Nearness
from memory.services.index.embedding_model import ActiveModel, active_model
from memory.services.memories import clause_meanings, settle
from memory.services.memories.clause_meanings import MOST_COMPARED, ClauseMeanings

pytestmark = pytest.mark.django_db

NEW, OLD, OTHER = "I've gone over to rowing completely.", "I swim every morning.", "The kiln fires at 1,240 degrees."


@pytest.fixture(autouse=True)
def _as_minilm(monkeypatch) -> None:
    """The model of the tests stands for the one whose cosines are known."""
    monkeypatch.setattr(ActiveModel, "is_minilm", True)


@pytest.fixture
def embedded(monkeypatch) -> list[str]:
    """The texts that vectors are made of, in order."""
    texts: list[str] = []
    whole = ActiveModel.embed

    def embed(self, asked):
        texts.extend(asked)
        return whole(self, asked)

    monkeypatch.setattr(ActiveModel, "embed", embed)
    return texts


def test_a_clause_is_embedded_when_it_is_measured_and_once(embedded):
    meanings = ClauseMeanings(active_model(), [NEW])
    meanings.add([OLD, OTHER])
    assert meanings.know(NEW, NEW, OLD)
    assert meanings.know(NEW, NEW, OTHER)
    assert not meanings.know(NEW, NEW, "Nobody said this.")
    assert embedded == [NEW]

    near = meanings.measure(NEW, NEW, [OLD])
    assert embedded == [NEW, OLD]
    new, old = active_model().embed([NEW, OLD])
    assert near == {OLD: Nearness(pytest.approx(float(new @ old), abs=1e-3), pytest.approx(float(new @ old), abs=1e-3))}

    embedded.clear()
    ClauseMeanings(active_model(), [OLD]).measure(OLD, OLD, [NEW])
    assert embedded == []


def test_no_more_is_known_than_may_be_compared():
    meanings = ClauseMeanings(active_model(), [NEW])
    earlier = [f"Crate {number} stands in the hall." for number in range(2 * MOST_COMPARED)]
    meanings.add(earlier)
    assert [one for one in earlier if meanings.know(NEW, NEW, one)] == earlier[: MOST_COMPARED - 1]


def test_of_another_model_no_cosine_is_known(monkeypatch):
    monkeypatch.setattr(ActiveModel, "is_minilm", False)
    meanings = ClauseMeanings(active_model(), [NEW])
    meanings.add([OLD])
    assert not meanings.know(NEW, NEW, OLD)


def test_no_more_vectors_are_kept_than_may_be(embedded, monkeypatch):
    monkeypatch.setattr(clause_meanings, "_vectors", for_seconds(600, most=2))
    model = active_model()
    first = clause_meanings.embed(model, [NEW, OLD])
    assert list(clause_meanings.embed(model, [OTHER])) == [OTHER]
    again = clause_meanings.embed(model, [NEW])
    assert embedded == [NEW, OLD, OTHER, NEW]
    assert np.allclose(again[NEW], first[NEW], atol=1e-3)


def test_a_session_is_compared_with_each_text_embedded_once(alice, remember, embedded):
    told = ["I live in Lisbon.", "I live in Porto now.", "I live in Graz now.", "I live in Oslo now."]
    for text in told:
        remember(alice, text)
    embedded.clear()
    settle.settle_pending(now=timezone.now())
    assert sorted(embedded) == sorted(told)
