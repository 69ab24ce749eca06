"""What the retrievers by meaning and by words find, and what they never find."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from memory import caches
from memory.models import Memory, MemoryVector
from memory.providers.embedding.registry import provider_for
from memory.retrieval import candidates, named_words
from memory.retrieval.arms import dense, lexical
from memory.retrieval.fusion import SIGNALS
from memory.retrieval.pipeline import retrieve
from memory.retrieval.question import Question, question
from memory.services.index.embedding_model import active_model
from memory.services.index.missing_vectors import embed_pending
from memory.services.memories import edit
from memory.types import system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def asked(text: str, *, familiarity: float = 1.0) -> Question:
    model = active_model()
    vector = model.provider.embed([text])[0]
    return question(text, vector=vector, model_id=model.id, familiarity=familiarity, now=NOW)


def by_words(tenant: Any, text: str, *, limit: int = 10) -> list[tuple[str, float]]:
    return [(hit.memory_id, hit.score) for hit in lexical.search(tenant.scope, asked(text), limit=limit).hits]


def by_meaning(tenant: Any, text: str, *, limit: int = 10) -> list[str]:
    return [hit.memory_id for hit in dense.search(tenant.scope, asked(text), limit=limit)]


def bm25(frequency: int, length: int, *, memories: int, holding: int, mean: float) -> float:
    idf = math.log(1 + (memories - holding + 0.5) / (holding + 0.5))
    return idf * frequency * 1.9 / (frequency + 0.9 * (0.4 + 0.6 * length / mean))


def test_a_score_by_words_is_bm25(alice, remember):
    short = remember(alice, "zebra lion")
    long = remember(alice, "zebra zebra tiger tiger tiger bear")
    remember(alice, "tiger")

    # There are 3 memories of 2, 6 and 1 terms.
    (first, second) = by_words(alice, "Zebras!")

    assert {first[0], second[0]} == {short, long}
    scores = dict([first, second])
    assert scores[short] == pytest.approx(bm25(1, 2, memories=3, holding=2, mean=3.0))
    assert scores[long] == pytest.approx(bm25(2, 6, memories=3, holding=2, mean=3.0))
    assert first[1] >= second[1]


def test_the_scores_of_several_words_add_up_and_a_repeated_one_counts_once(alice, remember):
    remember(alice, "zebra lion")
    remember(alice, "zebra bear")
    both = dict(by_words(alice, "zebra bear zebra"))
    zebra, bear = dict(by_words(alice, "zebra")), dict(by_words(alice, "bear"))
    assert both == pytest.approx({identity: zebra[identity] + bear.get(identity, 0) for identity in zebra})


def test_a_word_that_every_memory_holds_still_scores_above_nothing(alice, remember):
    for _ in range(3):
        remember(alice, "zebra")
    assert all(score > 0 for _, score in by_words(alice, "zebra"))


def test_a_word_that_questions_are_made_of_counts_half(alice, remember):
    remember(alice, "I recommend zebra")
    remember(alice, "lion")
    scores = {word: dict(by_words(alice, word)) for word in ("recommend", "zebra", "recommend zebra")}
    (asking,), (about,), (both,) = (list(found.values()) for found in scores.values())
    assert asking == pytest.approx(about / 2)
    assert both == pytest.approx(asking + about)


def test_a_question_of_stop_words_has_no_words_to_find(alice, remember):
    remember(alice, "zebra")
    assert by_words(alice, "what is it?") == []
    assert by_words(alice, "") == []


def test_chinese_is_found_by_its_characters(alice, remember):
    wanted = remember(alice, "我们决定用 Redis 做限流")
    other = remember(alice, "我喜欢绿茶")
    remember(alice, "hello")
    found = by_words(alice, "限流用什么？")
    assert [identity for identity, _ in found] == [wanted]
    assert {identity for identity, _ in by_words(alice, "茶")} == {other}
    # The question has only function words.
    assert by_words(alice, "我们") == []
    assert by_words(alice, "流限")[0][0] == wanted


def test_equal_scores_come_newest_first(alice, remember):
    ids = [remember(alice, "zebra", session=f"s{number}") for number in range(5)]
    assert [identity for identity, _ in by_words(alice, "zebra")] == ids[::-1]
    assert [identity for identity, _ in by_words(alice, "zebra", limit=2)] == ids[:2:-1]
    (hit,) = retrieve(alice.scope, asked("zebra"), top_k=3).hits
    assert [str(identity) for identity in (hit.id, *hit.restated_by)] == ids[::-1]


def test_ranks_count_from_one(alice, remember):
    for text in ("zebra", "zebra zebra lion", "zebra bear"):
        remember(alice, text)
    assert [hit.rank for hit in lexical.search(alice.scope, asked("zebra"), limit=10).hits] == [1, 2, 3]
    assert [hit.rank for hit in dense.search(alice.scope, asked("zebra"), limit=10)] == [1, 2, 3]


def test_similarity_is_the_cosine(alice, remember):
    texts = ["green tea for Ann", "the ship has docked", "green tea"]
    ids = [remember(alice, text) for text in texts]
    vectors = provider_for("hash", "hash-256").embed([*texts, "green tea?"])
    expected = dict(zip(ids, vectors[:3] @ vectors[3], strict=True))

    found = dense.search(alice.scope, asked("green tea?"), limit=10)

    assert {hit.memory_id: hit.score for hit in found} == pytest.approx(expected, abs=2e-3)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_identical_memories_of_another_namespace_never_appear(alice, bob, remember):
    for _ in range(60):
        remember(bob, "green tea")
    own = remember(alice, "something about a ship")

    assert by_meaning(alice, "green tea", limit=5) == [own]
    assert by_words(alice, "green tea") == []
    assert [str(hit.id) for hit in retrieve(alice.scope, asked("green tea"), top_k=50).hits] == [own]


def test_term_statistics_are_the_namespaces_own(alice, bob, remember):
    remember(alice, "zebra lion")
    remember(alice, "tiger bear")
    before = by_words(alice, "zebra")
    for _ in range(20):
        remember(bob, "zebra")
    assert by_words(alice, "zebra") == before


def test_an_archived_memory_is_not_found_and_a_restored_one_is(alice, remember):
    identity, other = remember(alice, "green tea"), remember(alice, "a ship")
    staff = system_access("staff:ann")
    edit.archive(staff, memory_ids=[uuid.UUID(identity)], reason="wrong", now=NOW)
    assert by_words(alice, "green tea") == []
    assert by_meaning(alice, "green tea") == [other]
    assert [str(hit.id) for hit in retrieve(alice.scope, asked("green tea"), top_k=5).hits] == [other]

    edit.restore(staff, memory_ids=[uuid.UUID(identity)], reason="right after all", now=NOW)
    assert by_meaning(alice, "green tea")[0] == by_words(alice, "green tea")[0][0] == identity


def test_a_memory_that_is_archived_during_the_search_is_left_out(alice, remember, monkeypatch):
    first, second = remember(alice, "green tea"), remember(alice, "green tea, twice")
    whole = named_words.find_named_words

    def archived_meanwhile(*arguments: Any, **named: Any) -> Any:
        found = whole(*arguments, **named)
        Memory.objects.across_namespaces().filter(pk=first).update(state="archived")
        return found

    monkeypatch.setattr(candidates, "find_named_words", archived_meanwhile)
    hits = retrieve(alice.scope, asked("green tea"), top_k=5).hits
    assert [(str(hit.id), hit.rank) for hit in hits] == [(second, 1)]


def test_vectors_of_another_model_are_not_compared(alice, remember):
    remember(alice, "green tea")
    other = replace(asked("green tea"), model_id=active_model().id + 1)
    assert dense.search(alice.scope, other, limit=5) == []


def test_where_the_model_reads_nothing_words_alone_rank(alice, remember):
    remember(alice, "green tea")
    zebra = remember(alice, "a zebra")
    found = retrieve(alice.scope, asked("zebra", familiarity=0.0), top_k=5)
    assert (found.weights["dense"], found.weights["lexical"]) == (0.0, 1.0)
    assert [hit.candidate.parts["dense"].weighted for hit in found.hits] == [0.0, 0.0]
    assert str(found.hits[0].id) == zebra


def test_a_memory_that_waits_for_its_vector_is_found_by_its_words(alice, remember, settings):
    remember(alice, "a ship")
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memory.services.index.embedding.embed_short_or_none", lambda texts, **_: None)
        waiting = remember(alice, "green tea")
    caches.forget_all()

    found = retrieve(alice.scope, asked("green tea"), top_k=5)
    first, _ = found.hits
    assert (str(first.id), first.similarity, first.overlap) == (waiting, 0.0, 1.0)
    expected = found.weights["lexical"] + SIGNALS["importance"] * (first.importance - 0.5)
    assert first.score == pytest.approx(expected, abs=1e-6)


def test_an_empty_namespace_has_no_hits(alice):
    found = retrieve(alice.scope, asked("anything"), top_k=5)
    assert (found.hits, found.considered) == ([], 0)
    assert set(found.milliseconds) == {
        "words",
        "vector",
        "meaning",
        "fusion",
        "read",
        "rerank",
        "restated",
    }


def test_overlap_is_the_share_of_the_questions_words(alice, remember):
    remember(alice, "green green tea")
    (hit,) = retrieve(alice.scope, asked("green tea or coffee with milk"), top_k=5).hits
    assert hit.overlap == pytest.approx(2 / 4)


LONG = ". ".join(f"Filler number {n} speaks of weather and walks" for n in range(60))


def test_the_end_of_a_long_memory_is_found_by_its_meaning(alice, remember):
    long = remember(alice, f"{LONG}. The submarine periscope is broken")
    remember(alice, "Filler speaks of weather")
    ends = MemoryVector.objects.across_namespaces().filter(memory_id=long).count() - 1

    hits = dense.search(alice.scope, asked("submarine periscope"), limit=10)

    assert ends > 2
    assert hits[0].memory_id == long
    assert len(hits) == 2
    (best,) = retrieve(alice.scope, asked("submarine periscope"), top_k=1).hits
    assert best.similarity == pytest.approx(hits[0].score, abs=1e-6)
    assert best.similarity == pytest.approx(similarities(long, "submarine periscope")[ends], abs=1e-3)


def test_memories_with_many_passages_do_not_crowd_out_the_others(alice, remember):
    long = [remember(alice, f"zebra {n}. " + ". ".join(["zebra"] * 3000)) for n in range(2)]
    embed_pending()
    short = [remember(alice, f"something else {n}") for n in range(8)]

    found = by_meaning(alice, "zebra", limit=8)

    assert MemoryVector.objects.across_namespaces().filter(memory_id__in=long).count() > 2 * 8 * 2
    assert set(found[:2]) == set(long)
    assert len(set(found)) == 8
    assert set(found) <= {*long, *short}


def similarities(memory_id: str, text: str) -> list[float]:
    vector = asked(text).vector
    stored = MemoryVector.objects.across_namespaces().filter(memory_id=memory_id).order_by("passage")
    return [float(np.dot(np.asarray(row.embedding), vector)) for row in stored]
