"""/v1/graph: entities as nodes, and what memories say between them as edges."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.models import Entity
from memory.services.entities import extract


@pytest.fixture
def world(alice, bob, remember):
    """Remember a graph of Tom, Berlin, Anna and Siemens, and Bob's Tom in Paris."""
    remember(alice, "I live in Berlin.", speaker="Tom")
    remember(alice, "Anna lives in Berlin.", session="s2")
    remember(alice, "Anna works at Siemens.", session="s3")
    remember(bob, "I live in Paris.", speaker="Tom")
    extract.index_pending(now=timezone.now())
    return alice


def graph(tenant, **query) -> tuple[set[str], set[tuple[str, str, str]]]:
    body = tenant.get("/v1/graph", namespace=tenant.scope.namespace, **query).json()
    names = {row["id"]: row["name"] for row in body["nodes"]}
    return set(names.values()), {(names[e["source"]], e["predicate"], names[e["target"]]) for e in body["edges"]}


def id_of(tenant, name) -> str:
    return str(Entity.objects.in_scope(tenant.scope).get(name=name).id)


def test_the_graph_needs_the_read_scope(make_tenant, olga):
    writer = make_tenant("shop", scopes=("write",))

    assert olga.get("/v1/graph").status_code == 401
    assert writer.get("/v1/graph", namespace="shop").status_code == 403


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"namespace": ""}, "namespace"),
        ({"around": "x"}, "around"),
        ({"depth": "3"}, "depth"),
        ({"depth": "0"}, "depth"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
    ],
)
def test_a_wrong_query_is_refused(alice, query, field):
    answer = alice.get("/v1/graph", **{"namespace": "alice", **query})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_another_tenants_graph_is_not_there(world, bob):
    assert world.get("/v1/graph", namespace="bob").status_code == 404
    assert world.get("/v1/graph", namespace="alice", around=id_of(bob, "Tom")).status_code == 404
    assert world.get("/v1/graph", namespace="alice", around=str(uuid.uuid4())).status_code == 404


def test_the_whole_namespace_has_what_is_stated(world):
    nodes, edges = graph(world)

    assert nodes == {"Tom", "Anna", "Berlin", "Siemens"}
    assert edges == {
        ("Tom", "lives_in", "Berlin"),
        ("Anna", "lives_in", "Berlin"),
        ("Anna", "works_at", "Siemens"),
    }


def test_around_an_entity_it_has_as_many_steps_as_asked_for(world):
    tom = id_of(world, "Tom")

    near, _ = graph(world, around=tom)
    far, edges = graph(world, around=tom, depth="2")

    assert near == {"Tom", "Berlin"}
    assert far == {"Tom", "Berlin", "Anna"}
    assert ("Anna", "lives_in", "Berlin") in edges
    assert {edge[1] for edge in edges} == {"lives_in", "mentioned_with"}


def test_it_has_no_more_entities_than_asked_for(world):
    nodes, edges = graph(world, around=id_of(world, "Anna"), depth="2", limit="2")

    assert len(nodes) == 2
    assert "Anna" in nodes
    assert all({source, target} == nodes for source, _, target in edges)


def test_an_entity_alone_is_a_graph(alice, remember):
    remember(alice, "Good morning!", speaker="Tom")
    extract.index_pending(now=timezone.now())

    assert graph(alice, around=id_of(alice, "Tom")) == ({"Tom"}, set())
