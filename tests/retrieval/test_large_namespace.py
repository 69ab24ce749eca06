"""Searches in a large namespace by words, and by meaning without an HNSW index (with one: test_hnsw_indexes)."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from memory import caches
from memory.errors import SearchTimedOut
from memory.models.sql import fetch
from memory.postgresql.time_limit import limit_statements
from memory.retrieval import size
from memory.retrieval.arms import ArmHit, dense, lexical, rare_terms
from memory.retrieval.filters import Condition, MemoryField, Not, Operator
from memory.retrieval.predicate import SqlCondition, predicate
from memory.retrieval.question import Question, question
from memory.services.index import common_terms
from memory.services.index.embedding_model import active_model
from memory.services.ingestion.ingest import ingest_batch
from memory.types import NewMemory, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
WORDS = [
    f"{a}{b}" for a in ("har", "bak", "vio", "gar", "lan", "pil", "mor", "tes") for b in ("bor", "ery", "lin", "den")
]
STAFF = system_access("staff:ann")


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Makes namespaces large from 200 memories on."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(common_terms, "COMMON", 20)


def told(count: int, *, seed: int) -> list[str]:
    """Makes texts of topics: each topic has three words, and each text one varying word."""
    chance = random.Random(seed)
    topics = [random.Random(number).sample(WORDS, 3) for number in range(40)]
    return [" ".join([*chance.choice(topics), f"detail{chance.randrange(60)}"]) for _ in range(count)]


def fill(tenant: Any, texts: list[str], *, session: str = "s1") -> list[uuid.UUID]:
    items = [(tenant.scope, NewMemory(session=session, role="user", text=text)) for text in texts]
    return [identity for start in range(0, len(items), 500) for identity in _ingest(items[start : start + 500])]


def _ingest(items: list) -> list[uuid.UUID]:
    return ingest_batch(items, now=NOW).memory_ids


def asked(text: str, *, among: SqlCondition | None = None) -> Question:
    model = active_model()
    vector = model.provider.embed([text])[0]
    return question(text, vector=vector, model_id=model.id, familiarity=1.0, now=NOW, predicate=among)


def by_meaning(tenant: Any, text: str, *, limit: int = 10) -> list[ArmHit]:
    caches.forget_all()
    return dense.search(tenant.scope, asked(text), limit=limit)


def ids_of(hits: list[ArmHit]) -> list[uuid.UUID]:
    return [uuid.UUID(hit.memory_id) for hit in hits]


def recall(tenant: Any, texts: list[str]) -> float:
    """Returns the share of the exact top 10 that the search finds; all memories with an equal score are right."""
    caches.forget_all()
    found = wanted = 0
    for text in texts:
        exact = dense.exact(tenant.scope, asked(text), limit=10)
        hits = dense.search(tenant.scope, asked(text), limit=10)
        assert len(hits) == len(exact) == 10
        assert [hit.rank for hit in hits] == list(range(1, 11))
        found += sum(hit.score >= exact[-1].score - 1e-6 for hit in hits)
        wanted += 10
    return found / wanted


def test_before_an_index_is_made_everything_is_compared(alice):
    fill(alice, told(300, seed=1))
    assert recall(alice, told(20, seed=3)) == 1


def test_a_filter_is_exact_in_a_large_namespace(alice):
    fill(alice, [f"harbor bakery violin {text}" for text in told(600, seed=1)])
    wanted = fill(alice, ["a bicycle", "a harbor", "the violin stays"], session="rare")
    caches.forget_all()
    among = predicate(Condition(MemoryField.SESSION, Operator.EQ, "rare"))
    question_ = asked("harbor bakery violin", among=among)
    assert sorted(ids_of(dense.search(alice.scope, question_, limit=10))) == wanted
    assert set(ids_of(lexical.search(alice.scope, question_, limit=10).hits)) == set(wanted[1:])
    others = predicate(Not(Condition(MemoryField.SESSION, Operator.EQ, "rare")))
    found = dense.search(alice.scope, asked("harbor bakery violin", among=others), limit=10)
    assert len(found) == 10
    assert not set(ids_of(found)) & set(wanted)


def by_words(tenant: Any, text: str, *, limit: int = 10) -> list:
    caches.forget_all()
    return lexical.search(tenant.scope, asked(text), limit=limit).hits


@pytest.mark.parametrize(("budget", "share"), [(100_000, 1.0), (120, 0.95)])
def test_words_score_as_exact_search_scores_them(alice, monkeypatch, budget, share):
    monkeypatch.setattr(rare_terms, "BUDGET", budget)
    fill(alice, told(600, seed=1))
    common_terms.keep_up()
    right = 0
    for text in told(50, seed=3):
        exact = {hit.memory_id: hit.score for hit in lexical.exact(alice.scope, asked(text), limit=1000).hits}
        found = by_words(alice, text)
        assert [hit.score for hit in found] == pytest.approx([exact[hit.memory_id] for hit in found])
        enough = sorted(exact.values(), reverse=True)[9] - 1e-6
        right += sum(hit.score >= enough for hit in found)
    assert right >= share * 500


def test_a_question_of_common_words_only_fills_the_answer(alice, monkeypatch):
    monkeypatch.setattr(rare_terms, "BUDGET", 5)
    ids = fill(alice, [f"{text} everywhere always" for text in told(300, seed=1)])
    common_terms.keep_up()
    found = by_words(alice, "everywhere always")
    assert len(found) == 10
    assert set(ids_of(found)) <= set(ids[-80:])
    whole = lexical.exact(alice.scope, asked("everywhere always"), limit=1000)
    exact = {hit.memory_id: hit.score for hit in whole.hits}
    assert [hit.score for hit in found] == pytest.approx([exact[hit.memory_id] for hit in found])


def test_a_rare_word_beside_common_ones_decides(alice, monkeypatch):
    monkeypatch.setattr(rare_terms, "BUDGET", 5)
    ids = fill(alice, ["zeppelin everywhere", *(f"{text} everywhere always" for text in told(300, seed=1))])
    common_terms.keep_up()
    (new,) = fill(alice, ["a zeppelin, everywhere, always, everywhere"])
    assert set(ids_of(by_words(alice, "the zeppelin always everywhere")[:2])) == {ids[0], new}
    assert by_words(alice, "unheard") == []


def test_a_namespace_at_the_limit_is_searched_exactly(alice, settings):
    fill(alice, told(200, seed=1))
    assert not size.is_large(alice.scope)
    fill(alice, told(1, seed=2))
    assert not size.is_large(alice.scope)  # known for some seconds
    caches.forget_all()
    assert size.is_large(alice.scope)


def test_a_search_that_takes_too_long_is_ended_and_leaves_no_limit_behind(db, settings):
    settings.MEMOS_SEARCH_TIMEOUT_MS = 50
    with pytest.raises(SearchTimedOut, match="longer than 50 ms"), limit_statements():
        fetch("SELECT pg_sleep(%(seconds)s)", {"seconds": 2}, prepared=False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seconds", [0, 2])
def test_the_limit_is_for_searches_only(settings, seconds):
    settings.MEMOS_SEARCH_TIMEOUT_MS = 50
    before = fetch("SHOW statement_timeout", {}, prepared=False)
    try:
        with limit_statements():
            fetch("SELECT pg_sleep(%(seconds)s)", {"seconds": seconds}, prepared=False)
    except SearchTimedOut:
        assert seconds
    assert fetch("SHOW statement_timeout", {}, prepared=False) == before
    assert fetch("SELECT pg_sleep(0.1)", {}, prepared=False) == [("",)]
