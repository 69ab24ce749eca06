"""Maps of namespaces: axes, stable positions, samples, clusters; erased memories have no position."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.utils import timezone

from memory.models import Job, Memory, ProjectedMemory, Projection
from memory.retrieval.axes import Axes, naming_terms
from memory.services.erasure import requests, run
from memory.services.erasure.requests import Target
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.projection import fit
from memory.services.projection import read as projected
from memory.types import NewMemory, Scope, system_access
from tests.job_queue import run_task

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
TOPICS = ("harbour crane ship pilot", "sourdough oven flour bakery", "telescope galaxy comet lens")


def turns(tenant, texts, *, session="s1", at=NOW) -> list[uuid.UUID]:
    memories = [NewMemory(session=session, role="user", text=text, occurred_at=at) for text in texts]
    return ingest_batch([(tenant.scope, memory) for memory in memories], now=NOW).memory_ids


def many(count: int, *, first: int = 0) -> list[str]:
    return [f"{TOPICS[number % 3]} number{number}" for number in range(first, first + count)]


def draw(tenant, now=None) -> int:
    return fit.project(tenant.scope, now=now or timezone.now())


def places(tenant) -> dict[uuid.UUID, tuple[float, float, float]]:
    rows = ProjectedMemory.objects.in_scope(tenant.scope)
    return {row.memory_id: (row.x, row.y, row.z) for row in rows}


def ids_on_map(scope: Scope) -> list[uuid.UUID]:
    ids = projected.points(scope).ids
    return [uuid.UUID(bytes=ids[start : start + 16]) for start in range(0, len(ids), 16)]


class TestAxes:
    def test_they_are_those_of_the_singular_value_decomposition(self):
        vectors = np.random.default_rng(3).normal(size=(300, 24)).astype(np.float32) @ np.diag(np.arange(1, 25))
        vectors = vectors.astype(np.float32)
        axes = Axes.of(vectors)
        centred = vectors - vectors.mean(axis=0)
        _, values, rows = np.linalg.svd(centred.astype(np.float64), full_matrices=False)

        assert axes.explained == pytest.approx((values**2 / (values**2).sum())[:3].tolist(), rel=1e-5)
        for mine, other in zip(axes.components, rows[:3], strict=True):
            assert abs(float(mine @ other)) == pytest.approx(1, abs=1e-5)
        assert np.abs(axes.place(vectors)) == pytest.approx(np.abs(centred @ rows[:3].T), abs=1e-3)

    def test_a_place_does_not_depend_on_what_else_is_placed(self):
        vectors = np.random.default_rng(4).normal(size=(50, 16)).astype(np.float32)
        axes = Axes.of(vectors)
        assert np.array_equal(axes.place(vectors)[7], axes.place(vectors[7:8])[0])

    @pytest.mark.parametrize("vectors", [np.ones((1, 8)), np.ones((5, 8)), np.eye(2)])
    def test_where_there_is_little_to_tell_apart_nothing_is_made_up(self, vectors):
        axes = Axes.of(vectors.astype(np.float32))
        assert np.isfinite(axes.place(vectors.astype(np.float32))).all()
        assert sum(axes.explained) <= 1.0001

    def test_clusters_are_named_by_what_tells_them_apart(self):
        held = [["oven", "the"], ["oven", "flour", "the"], ["crane", "the"], ["crane", "ship", "the"]]
        names = naming_terms([0, 0, 1, 1], held, count=2)
        assert (names[0][0], names[1][0]) == ("oven", "crane")


class TestMap:
    def test_every_memory_is_on_it_and_the_clusters_count_them(self, alice):
        ids = turns(alice, many(60))
        assert draw(alice) == 60
        chart = fit.chart(alice.scope)
        assert (chart.memories, chart.shown) == (60, 60)
        assert set(places(alice)) == set(ids)
        assert sum(cluster.size for cluster in chart.clusters) == 60
        for cluster in chart.clusters:
            assert projected.of_cluster(alice.scope, number=cluster.number).count() == cluster.size
        words = {word for cluster in chart.clusters for word in cluster.words}
        assert words & {"harbour", "sourdough", "telescope", "galaxy", "bakery", "crane", "oven"}

    def test_new_memories_find_their_place_and_old_ones_keep_theirs(self, alice):
        turns(alice, many(40))
        draw(alice)
        version, before = fit.chart(alice.scope).version, places(alice)
        new = turns(alice, many(20, first=100))
        draw(alice)
        after = places(alice)
        assert {memory_id: after[memory_id] for memory_id in before} == before
        assert set(after) - set(before) == set(new)
        assert fit.chart(alice.scope).version == version

    def test_axes_are_made_anew_when_it_has_doubled_or_someone_asks(self, alice):
        turns(alice, many(10))
        draw(alice)
        first = fit.chart(alice.scope).version
        turns(alice, many(10, first=10))
        draw(alice)
        second = fit.chart(alice.scope).version
        assert second != first
        draw(alice)
        assert fit.chart(alice.scope).version == second
        fit.ask(alice.scope, anew=True)
        draw(alice)
        assert fit.chart(alice.scope).version != second

    def test_an_edited_memory_is_placed_by_what_it_says_now(self, alice):
        ids = turns(alice, many(12))
        draw(alice)
        before = places(alice)
        edit.edit(system_access("t"), memory_id=ids[0], text="telescope galaxy comet lens again", reason="r", now=NOW)
        draw(alice)
        moved = {memory_id for memory_id, place in places(alice).items() if place != before[memory_id]}
        assert moved == {ids[0]}

    def test_an_empty_namespace_has_none(self, alice):
        assert draw(alice) == 0
        assert fit.chart(alice.scope) is None
        assert ids_on_map(alice.scope) == []

    def test_the_job_is_asked_for_once_and_is_the_namespaces(self, alice, bob):
        turns(alice, many(5))
        assert fit.ask(alice.scope) == fit.ask(alice.scope)
        job = Job.objects.across_namespaces().get()
        assert (job.namespace_id, job.kind) == (alice.scope.namespace_id, "project_memories")
        assert fit.in_the_making(bob.scope) is None
        assert run_task("project_memories", alice.scope.namespace_id) == 5


class TestSample:
    def test_each_session_and_month_has_its_share(self, alice, monkeypatch):
        monkeypatch.setattr(fit, "SHOWN", 60)
        for session, month, count in (("large", 1, 120), ("large", 2, 60), ("small", 1, 60)):
            turns(alice, many(count), session=session, at=datetime(2026, month, 3, tzinfo=UTC))
        for number in range(60):
            turns(alice, many(1), session=f"tiny {number}")
        assert draw(alice) == 60
        shown = (
            Memory.objects.across_namespaces().filter(pk__in=places(alice)).values_list("session", "occurred_at__month")
        )
        held = Counter((session.split()[0], month if session == "large" else 0) for session, month in shown)
        assert held["large", 1] == pytest.approx(24, abs=1)
        assert held["large", 2] == pytest.approx(12, abs=1)
        assert held["small", 0] == pytest.approx(12, abs=1)
        # Together the many small sessions have about their share, though none of them has a reserved place.
        assert held["tiny", 0] == pytest.approx(12, abs=5)
        assert fit.chart(alice.scope).memories == 300

    def test_it_is_the_same_each_time(self, alice, monkeypatch):
        monkeypatch.setattr(fit, "SHOWN", 20)
        turns(alice, many(60))
        draw(alice)
        before = places(alice)
        draw(alice)
        assert places(alice) == before


class TestReading:
    def test_points_carry_what_they_are_coloured_by(self, alice):
        ids = turns(
            alice, ["The kiln of the pottery in Lisbon fires at 1,240 degrees.", "Thanks!"], at=NOW - timedelta(days=3)
        )
        edit.archive(system_access("t"), memory_ids=[ids[1]], reason="r", now=NOW)
        draw(alice)
        points = projected.points(alice.scope)
        assert ids_on_map(alice.scope) == sorted(ids)
        assert points.sessions == [("s1", 2)]
        assert points.state.tolist() == [projected.ACTIVE, projected.ARCHIVED]
        assert [projected.KINDS[kind] for kind in points.kind] == ["said", "episode"]
        assert points.occurred.tolist() == [int((NOW - timedelta(days=3)).timestamp())] * 2

    def test_a_namespace_shows_nothing_of_another(self, alice, bob):
        turns(alice, many(5))
        other = turns(bob, many(7))
        draw(alice)
        draw(bob)
        assert not set(ids_on_map(alice.scope)) & set(other)
        assert fit.chart(alice.scope).shown == 5
        assert len(projected.saying(bob.scope, words="number3")) == 1
        assert all(row.namespace_id == bob.scope.namespace_id for row in projected.of_cluster(bob.scope, number=0))

    def test_words_are_found_as_they_are_indexed(self, alice):
        ids = turns(alice, ["Cranes lift.", "The oven is hot.", "起重机坏了。"])
        draw(alice)
        assert projected.saying(alice.scope, words="crane") == [ids[0]]
        assert projected.saying(alice.scope, words="起重机") == [ids[2]]
        assert projected.saying(alice.scope, words="the\0") == []


class TestErasure:
    def test_the_point_the_axes_and_the_names_go(self, alice):
        ids = turns(alice, [*many(20), "zinnober quagga", "zinnober quagga cellar"])
        draw(alice)
        erasure = requests.request(
            alice.scope, target=Target(memory_ids=tuple(ids[-2:])), reason="r", now=timezone.now()
        )
        run.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now)
        erasure.refresh_from_db()
        assert erasure.status == "finished"
        assert erasure.proof["left"] == 0
        assert not Projection.objects.across_namespaces().exists()
        assert len(places(alice)) == 20
        draw(alice)
        words = {word for cluster in fit.chart(alice.scope).clusters for word in cluster.words}
        assert not words & {"zinnober", "quagga"}

    def test_a_map_in_the_making_leaves_out_what_an_erasure_names(self, alice):
        ids = turns(alice, many(20))
        requests.request(alice.scope, target=Target(memory_ids=(ids[3],)), reason="r", now=timezone.now())
        assert draw(alice) == 19
        assert ids[3] not in places(alice)

    def test_what_is_erased_while_it_reads_has_it_begin_anew(self, alice, monkeypatch):
        ids = turns(alice, many(20))
        read = fit._sample

        def sample(*arguments, **options):
            found = read(*arguments, **options)
            if ids[3] in found.ids:
                requests.request(alice.scope, target=Target(memory_ids=(ids[3],)), reason="r", now=timezone.now())
            return found

        monkeypatch.setattr(fit, "_sample", sample)
        assert draw(alice) == 19
        assert ids[3] not in places(alice)

    def test_a_memory_that_is_deleted_otherwise_takes_its_point_along(self, alice):
        ids = turns(alice, many(5))
        draw(alice)
        Memory.objects.across_namespaces().filter(pk=ids[0])._raw_delete("default")
        assert set(places(alice)) == set(ids[1:])
