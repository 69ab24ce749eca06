"""The columns find the same memories with the same scores as SQL, after any writes."""

from __future__ import annotations

import os
import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.enums import LinkKind, MemoryState, Review
from memory.models import Entity, Memory, MemoryLink, Namespace
from memory.retrieval.filters import parse
from memory.retrieval.fusion import Ranking
from memory.services.entities import curate, extract
from memory.services.erasure import requests, run
from memory.services.ingestion.ingest import ingest
from memory.services.memories import edit, settle, supersede
from memory.services.preferences.read import read_session
from memory.services.recall.search import Ask, find
from memory.services.tenancy.policy import put_policy
from memory.types import NewMemory, Scope, system_access
from tests.retrieval.columns.ways import as_a_process_without_columns, by_columns, search_by_columns, search_by_sql

ACCESS = system_access("tests")
# The number of random histories, which differ in each run; `make fuzz` takes more.
EXAMPLES = int(os.environ.get("MEMOS_EXAMPLES") or 10)
TEXTS = [
    "I moved to Lisbon with Ada last spring.",
    "Ada's new office is in New York.",
    "Bo keeps two cats and a parrot in his flat.",
    "My dentist is Dr. Chen in the harbour street.",
    "I no longer live in Lisbon, I moved to Porto.",
    "The deadline is now 14 May instead of 2 May.",
    "Where is the deadline list?",
    "王芳住在北京，她养了两只猫。",
    "上海的办公室在三楼。",
    "I love cats, but I don't like loud offices.",
    "I avoid New York in the summer.",
    "!!!",
    "Yesterday Bo sold the blue bicycle to Ada for 120 euros. " * 40,
]
QUESTIONS = [
    "Where does Ada live?",
    "What did Bo sell yesterday?",
    "When is the deadline?",
    "王芳住在哪里？",
    "List all the cats and parrots that anyone keeps",
    "zebra",
    "Can you recommend an office in New York?",
    "What is the latest news of New York?",
]
NARROWED: list[dict[str, Any]] = [
    {"where": parse({"session_id": "s1"})},
    {"where": parse({"role": "agent"})},
    {"where": parse({"not": {"speaker": "Ada"}})},
]
STEPS = ("say say say edit archive restore erase supersede settle names merge weigh tag suspect link prefer").split()


@dataclass
class History:
    """Makes random changes in a namespace."""

    scope: Scope
    chance: random.Random
    said: list[uuid.UUID] = field(default_factory=list)

    def take(self, step: str) -> None:
        """Takes one of STEPS, with a random memory if it is about one."""
        if self.said:
            getattr(self, f"_{step}")(self.chance.choice(self.said))
        else:
            self._say(None)

    def take_time(self) -> dict[str, datetime]:
        """Returns arguments with no time, with one in the midst of the history, or with one of the last three days."""
        hours, seconds = self.chance.randrange(72), self.chance.random()
        now = timezone.now()
        times = [{}, {"as_of": now - timedelta(seconds=seconds)}, {"valid_at": now - timedelta(hours=hours)}]
        return self.chance.choice(times)

    def _edit(self, one: uuid.UUID) -> None:
        if self._is_active(one):
            edit.edit(ACCESS, memory_id=one, text=self.chance.choice(TEXTS), reason="test", now=timezone.now())

    def _weigh(self, one: uuid.UUID) -> None:
        if self._is_active(one):
            edit.edit(ACCESS, memory_id=one, importance=self.chance.random(), reason="test", now=timezone.now())

    def _tag(self, one: uuid.UUID) -> None:
        if self._is_active(one):
            metadata = {"number": self.chance.random()}
            edit.edit(ACCESS, memory_id=one, metadata=metadata, reason="test", now=timezone.now())

    def _suspect(self, one: uuid.UUID) -> None:
        marks = [Review.SUSPECTED.value, ""]
        Memory.objects.in_scope(self.scope).filter(pk=one).update(review=self.chance.choice(marks))

    def _link(self, one: uuid.UUID) -> None:
        """Links a newer memory as the successor of words of the memory, or removes the link."""
        links = MemoryLink.objects.in_scope(self.scope).filter(kind=LinkKind.SUPERSEDES)
        newest = self.said[-1]
        if links.exists() and self.chance.random() < 0.4:
            links.delete()
        elif one != newest:
            place = {"namespace_id": self.scope.namespace_id, "memory_id": newest, "other_id": one}
            MemoryLink.objects.in_scope(self.scope).filter(memory_id=newest, other_id=one).delete()
            MemoryLink.objects.create(
                **place, kind=LinkKind.SUPERSEDES, reason="test", actor="tests", start=0, end=self.chance.choice([1, 3])
            )

    def _archive(self, one: uuid.UUID) -> None:
        edit.archive(ACCESS, memory_ids=[one], reason="test", now=timezone.now())

    def _restore(self, one: uuid.UUID) -> None:
        edit.restore(ACCESS, memory_ids=[one], reason="test", now=timezone.now())

    def _erase(self, one: uuid.UUID) -> None:
        target = requests.Target(memory_ids=(one,))
        asked = requests.request(self.scope, target=target, reason="test", now=timezone.now(), enqueue=False)
        run.carry_out(namespace_id=self.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
        self.said.remove(one)

    def _supersede(self, _: uuid.UUID) -> None:
        rows = Memory.objects.in_scope(self.scope).filter(superseded_by=None, state=MemoryState.ACTIVE)
        free = list(rows.order_by("id").values_list("pk", flat=True))
        if len(free) > 1:
            supersede.supersede(ACCESS, older_id=free[0], newer_id=free[-1], reason="test", now=timezone.now())

    def _settle(self, _: uuid.UUID) -> None:
        settle.settle_pending(now=timezone.now())

    def _names(self, _: uuid.UUID) -> None:
        extract.index_pending(now=timezone.now())

    def _merge(self, _: uuid.UUID) -> None:
        rows = Entity.objects.in_scope(self.scope).filter(merged_into=None).order_by("id")
        names = list(rows.values_list("id", flat=True))
        if len(names) > 1:
            first, second = self.chance.sample(names, 2)
            curate.merge(self.scope, entity_id=first, source_id=second, reason="test", now=timezone.now())

    def _prefer(self, _: uuid.UUID) -> None:
        for session in ("s1", "s2"):
            read_session(self.scope, session=session, now=timezone.now())

    def _is_active(self, one: uuid.UUID) -> bool:
        return Memory.objects.in_scope(self.scope).filter(pk=one, state=MemoryState.ACTIVE).exists()

    def _say(self, _: uuid.UUID | None) -> None:
        now = timezone.now()
        for _ in range(self.chance.choice([1, 1, 4])):
            memory = NewMemory(
                session=self.chance.choice(["s1", "s2"]),
                role=self.chance.choice(["user", "user", "agent"]),
                speaker=self.chance.choice(["", "Ada", "Bo"]),
                text=self.chance.choice(TEXTS),
                occurred_at=now - timedelta(hours=self.chance.randrange(72)) if self.chance.random() < 0.3 else None,
            )
            self.said += ingest(self.scope, memory=memory, now=now).memory_ids


def compare(scope: Scope, text: str) -> None:
    """Checks that both ways find the same candidates, with the same values of all retrievers and signals."""
    one, read = search_by_sql(scope, text)
    other, kept = search_by_columns(scope, text)
    # Hits of equal score may be in another order, because the last digits of sums differ.
    assert sorted((hit.memory for hit in read), key=lambda memory: memory.id) == sorted(
        (hit.memory for hit in kept), key=lambda memory: memory.id
    )
    assert {hit.id: hit.overlap for hit in read} == {hit.id: hit.overlap for hit in kept}
    assert one.ids == other.ids
    # One of them may leave out a signal that is 0 for all candidates up to rounding.
    for name in one.values.keys() | other.values.keys():
        nothing = np.zeros(len(one.ids))
        # Six digits are compared, because the cosines of PostgreSQL and numpy agree in no more, and signals are sums.
        np.testing.assert_allclose(
            one.values.get(name, nothing), other.values.get(name, nothing), rtol=1e-6, atol=1e-6, err_msg=name
        )
        if name in one.weights and name in other.weights:
            assert one.weights[name] == pytest.approx(other.weights[name], abs=1e-6)
    np.testing.assert_allclose(scores(one), scores(other), rtol=0, atol=1e-6)


def compare_narrowed(scope: Scope, text: str, narrowed: dict[str, Any]) -> None:
    """Checks that searches with a filter or a time find the same in processes with and without columns."""
    asked = Ask(text, 5, timezone.now(), dry_run=True, **narrowed)
    one = find(scope, asked)
    assert not by_columns(one.retrieval)
    with as_a_process_without_columns():
        other = find(scope, asked)
    assert [(hit.id, hit.memory) for hit in one.hits] == [(hit.id, hit.memory) for hit in other.hits]
    assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-6)


def scores(ranking: Ranking) -> np.ndarray:
    return sum((ranking.weights[name] * value for name, value in ranking.values.items()), np.zeros(len(ranking.ids)))


@pytest.mark.django_db(transaction=True)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(st.sampled_from(STEPS), min_size=3, max_size=14), seed=st.integers(0, 10_000))
def test_whatever_has_been_written_both_ways_find_the_same(opened, steps, seed):
    name = f"n{uuid.uuid4().hex[:12]}"
    namespace = Namespace.objects.create(name=name)
    put_policy(Scope(namespace.pk, name, "tests"), wanted={"preferences": "rules"}, now=timezone.now())
    history = History(Scope(namespace.pk, name, "tests"), random.Random(seed))
    for step in ["say", "say", *steps]:
        history.take(step)
        for text in history.chance.sample(QUESTIONS, 2):
            compare(history.scope, text)
        compare_narrowed(history.scope, text, history.chance.choice(NARROWED) | history.take_time())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("search", [search_by_sql, search_by_columns])
def test_what_questions_of_facts_find_is_the_same_before_preferences_were_read_and_after(opened, search):
    namespace = Namespace.objects.create(name=f"n{uuid.uuid4().hex[:12]}")
    scope = Scope(namespace.pk, namespace.name, "tests")
    now = timezone.now()
    said = ("I love green tea.", "I avoid lively places.", "I usually drink tea.", "The tea was cold.", "Bo sells tea.")
    for number in range(40):
        text = f"{said[number % len(said)]} Number {number} of the list."
        ingest(scope, memory=NewMemory(session="s1", role="user", text=text, speaker="Ana"), now=now)
    questions = ("Who sells tea?", "Where are lively places?", "What was cold?", "green tea", "Number 7")
    before = [search(scope, text)[0] for text in questions]
    put_policy(scope, wanted={"preferences": "rules"}, now=now)
    assert read_session(scope, session="s1", now=now).stored == 3
    for text, one in zip(questions, before, strict=True):
        other = search(scope, text)[0]
        assert one.ids == other.ids
        assert one.weights == other.weights
        for name, values in one.values.items():
            np.testing.assert_array_equal(values, other.values[name], err_msg=name)
