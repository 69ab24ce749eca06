"""If the outdated clause cannot be cut out, both memories stay: the newer ranks first, and the hit says so."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.models import Memory, MemoryLink
from memory.services.memories import settle, statement_vectors
from memory.text.analysis import terms

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
OLD = "My sister Mia lives in Rome and she keeps two tortoises."
NEW = "Mia moved to Oslo."


@pytest.fixture(autouse=True)
def _near(monkeypatch) -> None:
    """Make statements that share words similar, since the test vectors have no meaning."""

    def measure_cosines(_model: object, said: str, others: Sequence[str]) -> list[float]:
        return [0.9 if len(set(terms(said)) & set(terms(other))) > 0 else 0.1 for other in others]

    monkeypatch.setattr(statement_vectors, "measure_cosines", measure_cosines)


def ask(tenant, query: str) -> list[dict]:
    answer = tenant.post("/v1/search", {"namespace": tenant.scope.namespace, "query": query, "top_k": 5})
    assert answer.status_code == 200, answer.json()
    return answer.json()["hits"]


def told(alice, remember) -> tuple[str, str]:
    old = remember(alice, OLD, session="march", occurred_at=MARCH)
    new = remember(alice, NEW, session="may", occurred_at=MAY)
    settle.settle_pending(now=timezone.now())
    return old, new


def test_nothing_is_cut_out_that_what_stays_points_back_at(alice, remember):
    old, new = told(alice, remember)

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert (memory.retired_spans, memory.superseded_by) == ([], None)
    link = MemoryLink.objects.across_namespaces().get()
    assert (str(link.memory_id), str(link.other_id), link.kind) == (new, old, "supersedes")


def test_the_newer_comes_first_for_the_value_and_the_hit_says_so(alice, remember):
    old, new = told(alice, remember)

    hits = ask(alice, "Where does my sister Mia live, in Rome?")

    assert [hit["id"] for hit in hits[:2]] == [new, old]
    [later] = hits[1]["metadata"]["later"]
    assert (later["memory_id"], later["text"]) == (new, NEW)
    assert hits[0]["explanation"]["signals"]["successor"]["weighted"] > 0


def test_the_fact_beside_it_is_found_as_before(alice, remember):
    old, _ = told(alice, remember)

    assert ask(alice, "Who keeps tortoises?")[0]["id"] == old
    assert ask(alice, "How many tortoises does Mia keep?")[0]["id"] == old


def test_the_pack_tells_the_later_value_beside_the_earlier(alice, remember):
    told(alice, remember)

    body = {"namespace": "alice", "session_id": "asking", "query": "Where does Mia live?", "top_k": 5}
    pack = alice.post("/v1/query", body).json()["context_pack"]

    assert f"(later, 2026-05-10: {NEW})" in pack["text"]
