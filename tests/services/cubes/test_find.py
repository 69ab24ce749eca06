"""Cubes and users are found only by those who reach their namespaces."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.enums import AccessScope, CubeKind, ShareLevel
from memory.errors import Conflict, NotFound
from memory.services.cubes import create, find
from memory.services.tenancy import users
from memory.types import Access, system_access

EVERYTHING = system_access("test")


def access_to(*namespace_ids: int, shares: tuple[tuple[int, ShareLevel], ...] = ()) -> Access:
    return Access(
        actor="key:test",
        scopes=frozenset(AccessScope.values),
        namespace_ids=frozenset(namespace_ids),
        shares=shares,
    )


def test_another_tenants_cube_and_user_are_as_ones_that_are_not_there(alice, bob):
    now = timezone.now()
    cube = create.register_cube(EVERYTHING, namespace="alice", name="Alice's", now=now)
    user = users.create_user(EVERYTHING, namespace="alice", name="alice", now=now)
    stranger = access_to(bob.scope.namespace_id)
    nothing = uuid.uuid4()

    for look, known in (
        (lambda identity: find.find_cube(stranger, identity), cube.pk),
        (lambda identity: users.find_user(stranger, user_id=identity), user.pk),
    ):
        with pytest.raises(NotFound) as theirs:
            look(known)
        with pytest.raises(NotFound) as absent:
            look(nothing)
        assert theirs.value.message.replace(str(known), "") == absent.value.message.replace(str(nothing), "")
    assert find.list_cubes(stranger, limit=5) == users.list_users(stranger, limit=5) == ([], None)
    with pytest.raises(NotFound):
        create.register_cube(stranger, namespace="bob", name="Bob's", owner_id=user.pk, now=now)


def test_what_is_shared_is_reached_only_for_what_it_is_shared_for(alice, bob):
    cube = create.register_cube(EVERYTHING, namespace="alice", name="Alice's", now=timezone.now())
    reader = access_to(bob.scope.namespace_id, shares=((alice.scope.namespace_id, ShareLevel.READ),))

    with pytest.raises(NotFound):
        find.find_cube(reader, cube.pk)
    for needed in (AccessScope.WRITE, AccessScope.ADMIN):
        with pytest.raises(NotFound):
            find.find_cube(reader.reach_shares(needed), cube.pk)
    reading = reader.reach_shares(AccessScope.READ)
    assert find.level_of(reading, find.find_cube(reading, cube.pk)) == ShareLevel.READ
    assert find.level_of(EVERYTHING, cube) == find.OWN


def test_a_kind_of_memory_that_is_off_is_refused_with_what_turns_it_on(alice):
    cube = create.register_cube(EVERYTHING, namespace="alice", name="Alice's", now=timezone.now())

    find.require_kind(cube, CubeKind.TEXTUAL)
    with pytest.raises(Conflict, match=r'PATCH .*\["textual", "activation"\]'):
        find.require_kind(cube, CubeKind.ACTIVATION)


def test_a_namespace_is_one_cube_and_keeps_its_memories_when_it_is_none(alice, remember):
    memory = remember(alice, "Alice swims in the harbour every morning.")
    now = timezone.now()
    cube = create.register_cube(EVERYTHING, namespace="alice", name="Alice's", now=now)

    with pytest.raises(Conflict, match="is a cube"):
        create.register_cube(EVERYTHING, namespace="alice", name="Again", now=now)
    with pytest.raises(Conflict, match="/v1/cubes/register"):
        create.create_cube(EVERYTHING, namespace="alice", name="New", now=now)
    create.unregister_cube(EVERYTHING, cube_id=cube.pk, now=now)

    assert alice.get(f"/v1/memories/{memory}").status_code == 200
    assert create.create_cube(EVERYTHING, namespace="new", name="New", now=now).namespace.name == "new"
