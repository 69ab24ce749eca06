"""Clients of MemTensor's API make their users and cubes at each start, and send no Idempotency-Key."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memory.models import AuditLog, Cube, CubeShare, Namespace, User
from tests.api.memtensor.test_routes import data_of, refuse
from tests.api.test_cubes import ben, boss, cube
from tests.threads import together

__all__ = ["ben", "boss", "cube"]

pytestmark = pytest.mark.django_db(transaction=True)
ANN = {"user_id": "ann", "user_name": "Ann", "interests": "boats"}


def events() -> int:
    return AuditLog.objects.across_namespaces().count()


def send(tenant: Any, path: str, body: dict[str, Any]) -> Any:
    """Send a request from a separate thread."""
    headers = {"Authorization": f"Bearer {tenant.token}"}
    return Client().post(path, body, content_type="application/json", headers=headers)


@pytest.mark.parametrize("path", ["/product/users/register", "/users"])
def test_a_user_is_made_once(alice, path):
    made = alice.post(path, ANN)
    before = events()
    for again in (ANN, {"user_id": "ann"}, {"user_id": "ann", "user_name": " Ann "}, {**ANN, "interests": None}):
        answer = alice.post(path, again)
        assert data_of(answer) == data_of(made)
        assert answer.json()["message"] == "The user is there already."
    assert (User.objects.across_namespaces().count(), events()) == (1, before)
    for other in ({**ANN, "user_name": "Anne"}, {**ANN, "interests": "bees"}):
        refuse(alice.post(path, other), 409, "ann")
    assert User.objects.across_namespaces().get().display_name == "Ann"


def test_a_key_that_may_not_read_is_told_of_nobody(alice, make_tenant):
    data_of(alice.post("/users", ANN))
    writer = make_tenant("alice", scopes=("write",))
    answer = writer.post("/users", {"user_id": "ann"})
    refuse(answer, 409)
    assert "Ann" not in answer.content.decode()


def test_another_tenants_user_of_the_same_name_is_another(alice, bob):
    first, second = (data_of(tenant.post("/users", {"user_id": "ann"})) for tenant in (alice, bob))
    assert first["id"] != second["id"]
    assert (first["mem_cube_id"], second["mem_cube_id"]) == ("alice", "bob")


def test_a_cube_is_made_once(boss):
    owner = data_of(boss.post("/users", {"user_id": "ann"}))
    asked = {"cube_name": "Team", "cube_id": "team", "owner_id": "ann"}
    made = data_of(boss.post("/product/create_cube", asked))
    assert (made["mem_cube_id"], made["owner_id"]) == ("team", owner["id"])
    before = events()
    for again in (asked, {"cube_name": "Team", "cube_id": "team"}):
        answer = boss.post("/product/create_cube", again)
        assert data_of(answer) == made
        assert answer.json()["message"] == "The cube is there already."
    assert (Cube.objects.across_namespaces().count(), events()) == (1, before)

    data_of(boss.post("/users", {"user_id": "eve"}))
    for other in ({**asked, "cube_name": "Crew"}, {**asked, "owner_id": "eve"}):
        refuse(boss.post("/product/create_cube", other), 409, "team")
    # A namespace that is not a cube does not become one without being asked.
    Namespace.objects.create(name="plain")
    refuse(boss.post("/product/create_cube", {"cube_name": "plain"}), 409, "/v1/cubes/register")
    assert Cube.objects.across_namespaces().count() == 1


@pytest.mark.parametrize("path", ["/product/register_cube", "/mem_cubes"])
def test_a_cube_is_registered_once(alice, bob, cube, path):
    before = events()
    for again in ({"mem_cube_id": "alice"}, {"mem_cube_name_or_path": "alice"},
                  {"mem_cube_id": "alice", "mem_cube_name_or_path": cube["name"]}):  # fmt: skip
        assert data_of(alice.post(path, again))["cube_id"] == cube["id"]
    assert (Cube.objects.across_namespaces().count(), events()) == (1, before)
    refuse(alice.post(path, {"mem_cube_id": "alice", "mem_cube_name_or_path": "Other"}), 409, "alice")
    refuse(bob.post(path, {"mem_cube_id": "alice"}), 404)


def test_a_cube_is_shared_once(boss, ben, cube):
    for level in ("read", "read", "write"):
        shared = data_of(boss.post("/mem_cubes/alice/share", {"target_user_id": "ben", "level": level}))
        assert shared["level"] == level
    assert CubeShare.objects.across_namespaces().get().level == "write"


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/users", ANN, User),
        ("/product/users/register", ANN, User),
        ("/product/create_cube", {"cube_name": "team"}, Cube),
        ("/product/register_cube", {"mem_cube_id": "alice"}, Cube),
        ("/mem_cubes", {"mem_cube_id": "alice"}, Cube),
    ],
)
def test_at_once_makes_one_and_answers_all(alice, boss, path, body, model):
    answers = together(4, lambda _: send(boss, path, body))

    told = [data_of(answer) for answer in answers]
    assert all(one == told[0] for one in told)
    assert model.objects.across_namespaces().count() == 1
