"""Search in a large namespace beside larger neighbours: as good as exact search, at every moment."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from memory import caches
from memory.errors import SearchTimedOut
from memory.models import IVFIndex, MemoryVector
from memory.models.sql import fetch, limit_statements
from memory.retrieval import ivf, size
from memory.retrieval.arms import ArmHit, dense, lexical, near_lists, rare_terms
from memory.retrieval.filters import Condition, MemoryField, Not, Operator
from memory.retrieval.predicate import SqlCondition, predicate
from memory.retrieval.question import Question, question
from memory.services.index import common_terms, ivf_lists
from memory.services.index.embedding_model import active_model
from memory.services.index.upkeep import keep_up
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.types import NewMemory, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
WORDS = [
    f"{a}{b}" for a in ("har", "bak", "vio", "gar", "lan", "pil", "mor", "tes") for b in ("bor", "ery", "lin", "den")
]
STAFF = system_access("staff:ann")


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Namespaces are large from 200 memories on; their lists are short and searches look into a part of them."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(ivf, "VECTORS_PER_LIST", 16)
    monkeypatch.setattr(ivf, "CANDIDATES", 160)
    monkeypatch.setattr(near_lists, "COMPARED", 60)
    monkeypatch.setattr(ivf_lists, "LARGEST", 32)
    monkeypatch.setattr(ivf_lists, "SMALLEST", 4)
    monkeypatch.setattr(ivf_lists, "FILE_AT_LEAST", 20)
    monkeypatch.setattr(common_terms, "COMMON", 20)


def told(count: int, *, seed: int) -> list[str]:
    """Texts of topics: each has three words of its own and is told with one that varies."""
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
    """The share of the exact top 10 (equal scores are equally right) that the search finds."""
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


def test_large_neighbours_take_nothing_from_a_tenant(alice, bob):
    """The guard of recall under the tenant filter: neighbours hold ten times as many, all nearer or as near."""
    own = fill(alice, told(300, seed=1))
    fill(bob, told(3000, seed=2))
    keep_up(now=NOW)
    assert IVFIndex.objects.across_namespaces().count() == 2
    questions = told(60, seed=3)

    assert recall(alice, questions) >= 0.98
    assert recall(bob, questions) >= 0.98
    assert {one for text in questions for one in ids_of(by_meaning(alice, text))} <= set(own)


def test_a_search_looks_into_a_part_of_the_lists(alice, monkeypatch):
    fill(alice, told(1000, seed=1))
    keep_up(now=NOW)
    looked_at = []
    whole = ivf.scan_lists

    def counting(*arguments: Any, **named: Any) -> Any:
        found = whole(*arguments, **named)
        looked_at.append(len(found.codes))
        return found

    monkeypatch.setattr(ivf, "scan_lists", counting)
    by_meaning(alice, "harbor bakery")
    assert 160 <= looked_at[0] < 250


def test_before_lists_are_made_everything_is_compared(alice):
    fill(alice, told(300, seed=1))
    assert not IVFIndex.objects.across_namespaces().exists()
    assert recall(alice, told(20, seed=3)) == 1


def test_what_is_written_is_found_at_once(alice):
    fill(alice, told(300, seed=1))
    keep_up(now=NOW)
    by_meaning(alice, "anything")
    (new,) = fill(alice, ["the zeppelin has landed"])
    assert not MemoryVector.objects.across_namespaces().get(memory_id=new).filed
    (first, *_) = by_meaning(alice, "zeppelin landed")
    assert (first.memory_id, first.rank) == (str(new), 1)
    assert first.score == pytest.approx(dense.exact(alice.scope, asked("zeppelin landed"), limit=1)[0].score)


def test_archived_memories_are_never_found_and_restored_ones_are(alice):
    ids = fill(alice, told(300, seed=1))
    keep_up(now=NOW)
    gone = ids_of(by_meaning(alice, "harbor bakery violin"))
    edit.archive(STAFF, memory_ids=gone, reason="wrong", now=NOW)

    left = by_meaning(alice, "harbor bakery violin")
    assert len(left) == 10
    assert not set(ids_of(left)) & set(gone)
    assert recall(alice, told(20, seed=3)) >= 0.98

    edit.restore(STAFF, memory_ids=gone, reason="right after all", now=NOW)
    assert ids_of(by_meaning(alice, "harbor bakery violin")) == gone
    assert set(gone) <= set(ids)


def test_an_edited_memory_is_found_by_its_new_text_only(alice):
    ids = fill(alice, ["the zeppelin has landed", *told(300, seed=1)])
    keep_up(now=NOW)
    edit.edit(STAFF, memory_id=ids[0], text="a submarine dives", reason="typo", now=NOW)
    assert ids_of(by_meaning(alice, "submarine dives"))[0] == ids[0]
    similar = {hit.memory_id: hit.score for hit in by_meaning(alice, "zeppelin landed", limit=len(ids))}
    assert similar[str(ids[0])] < 0.2


def test_the_answer_is_full_when_most_near_codes_are_of_gone(alice):
    fill(alice, told(250, seed=1))
    fill(alice, ["harbor bakery violin here"] * 400, session="gone")
    keep_up(now=NOW)
    reset_session(alice.scope, session="gone", dry_run=False, clear_audit=False, now=NOW)
    assert len(by_meaning(alice, "harbor bakery violin")) == 10


def test_a_filter_is_exact_in_a_large_namespace(alice):
    fill(alice, [f"harbor bakery violin {text}" for text in told(600, seed=1)])
    wanted = fill(alice, ["a bicycle", "a harbor", "the violin stays"], session="rare")
    keep_up(now=NOW)
    caches.forget_all()
    among = predicate(Condition(MemoryField.SESSION, Operator.EQ, "rare"))
    question_ = asked("harbor bakery violin", among=among)
    assert sorted(ids_of(dense.search(alice.scope, question_, limit=10))) == wanted
    assert set(ids_of(lexical.search(alice.scope, question_, limit=10).hits)) == set(wanted[1:])
    others = predicate(Not(Condition(MemoryField.SESSION, Operator.EQ, "rare")))
    found = dense.search(alice.scope, asked("harbor bakery violin", among=others), limit=10)
    assert len(found) == 10
    assert not set(ids_of(found)) & set(wanted)


def test_memories_of_many_passages_leave_room_for_others(alice):
    long = fill(alice, [f"The zeppelin has landed, said voice {n}. " * 150 for n in range(4)])
    fill(alice, [f"the zeppelin {text}" for text in told(300, seed=1)])
    assert MemoryVector.objects.across_namespaces().filter(memory_id=long[0]).count() > near_lists.COMPARED / 4
    for stage in range(2):
        found = by_meaning(alice, "the zeppelin has landed", limit=20)
        exact = dense.exact(alice.scope, asked("the zeppelin has landed"), limit=20)
        assert len({hit.memory_id for hit in found}) == 20, stage
        assert set(ids_of(found[:4])) == set(long)
        assert [hit.score for hit in found[:4]] == pytest.approx([hit.score for hit in exact[:4]])
        keep_up(now=NOW)
    assert IVFIndex.objects.across_namespaces().exists()


def test_a_process_that_knows_older_centroids_reads_them_again(alice):
    fill(alice, told(300, seed=1))
    keep_up(now=NOW)
    questions = told(40, seed=3)
    assert recall(alice, questions) >= 0.98
    before = IVFIndex.objects.across_namespaces().get().version

    fill(alice, told(2000, seed=4))
    keep_up(now=NOW)

    assert IVFIndex.objects.across_namespaces().get().version != before
    assert recall(alice, questions) >= 0.98


def by_words(tenant: Any, text: str, *, limit: int = 10) -> list:
    caches.forget_all()
    return lexical.search(tenant.scope, asked(text), limit=limit).hits


@pytest.mark.parametrize(("budget", "share"), [(100_000, 1.0), (120, 0.95)])
def test_words_score_as_exact_search_scores_them(alice, monkeypatch, budget, share):
    monkeypatch.setattr(rare_terms, "BUDGET", budget)
    fill(alice, told(600, seed=1))
    keep_up(now=NOW)
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
    keep_up(now=NOW)
    found = by_words(alice, "everywhere always")
    assert len(found) == 10
    assert set(ids_of(found)) <= set(ids[-80:])
    whole = lexical.exact(alice.scope, asked("everywhere always"), limit=1000)
    exact = {hit.memory_id: hit.score for hit in whole.hits}
    assert [hit.score for hit in found] == pytest.approx([exact[hit.memory_id] for hit in found])


def test_a_rare_word_beside_common_ones_decides(alice, monkeypatch):
    monkeypatch.setattr(rare_terms, "BUDGET", 5)
    ids = fill(alice, ["zeppelin everywhere", *(f"{text} everywhere always" for text in told(300, seed=1))])
    keep_up(now=NOW)
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
    with pytest.raises(SearchTimedOut, match=r"longer than 50 ms .* MEMOS_SEARCH_TIMEOUT_MS"), limit_statements():
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
