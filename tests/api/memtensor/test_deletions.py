"""MemTensor's deletions by record, its routes for one memory, and a key's identity. Refusals come first."""

from __future__ import annotations

import uuid

import pytest

from memory.models import Memory
from tests.api.memtensor.test_routes import FERRY, add, data_of, find, refuse
from tests.api.test_cubes import ben, boss, cube, share
from tests.api.test_users import send

__all__ = ["ben", "boss", "cube"]

pytestmark = pytest.mark.django_db(transaction=True)
DELETE, RECOVER = "/product/delete_memory_by_record_id", "/product/recover_memory_by_record_id"


def test_a_record_of_another_cube_or_none_is_refused_and_changes_nothing(alice, bob, boss):
    add(alice, writable_cube_ids=["alice"])
    add(bob, writable_cube_ids=["bob"])
    theirs = data_of(alice.post(DELETE, {"mem_cube_id": "alice", "record_id": "r"}))["record_ids"][0]

    for record in ("r", theirs, "nothing", str(uuid.uuid4())):
        refuse(bob.post(RECOVER, {"mem_cube_id": "bob", "delete_record_id": record}), 404, "no record")
        refuse(bob.post(RECOVER, {"mem_cube_id": "alice", "delete_record_id": record}), 404)
    refuse(boss.post(RECOVER, {"mem_cube_id": "bob", "delete_record_id": theirs}), 404, "no record")
    refuse(bob.post(DELETE, {"mem_cube_id": "alice", "record_id": "r"}), 404)
    refuse(bob.post(DELETE, {"mem_cube_id": "bob", "record_id": "r", "hard_delete": True}), 400, "/v1/erasures")
    refuse(bob.post(RECOVER, {"mem_cube_id": "bob"}), 400, "delete_record_id")
    assert find(bob, readable_cube_ids=["bob"]) == [FERRY]
    assert find(alice, readable_cube_ids=["alice"]) == []


def test_all_of_a_cube_is_deleted_once_under_a_record_and_recovered_by_it(alice):
    for number in range(3):
        add(alice, f"{FERRY} It is trip {number}.", writable_cube_ids=["alice"])
    asked = {"mem_cube_id": "alice", "record_id": "winter"}

    done = data_of(alice.post(DELETE, asked))
    assert (done["status"], done["deleted"]) == ("success", 3)
    add(alice, "The new ferry leaves at ten.", writable_cube_ids=["alice"])
    # The record names one deletion: memories that came later stay.
    assert data_of(alice.post(DELETE, asked)) == done
    assert len(find(alice, readable_cube_ids=["alice"])) == 1
    back = data_of(alice.post(RECOVER, {"mem_cube_id": "alice", "delete_record_id": "winter"}))
    assert back == {"status": "success", "recovered": 3}
    assert len(find(alice, readable_cube_ids=["alice"])) == 4
    assert data_of(alice.post(RECOVER, {"mem_cube_id": "alice", "record_id": "winter"}))["recovered"] >= 0

    [record] = data_of(alice.post("/product/delete_memory", {"mem_cube_id": "alice", "user_id": "ann"}))["record_ids"]
    assert find(alice, readable_cube_ids=["alice"]) == []
    assert data_of(alice.post(RECOVER, {"mem_cube_id": "alice", "record_id": record}))["recovered"] == 4


def test_of_a_cube_that_is_shared_only_memories_that_are_named_are_deleted(alice, bob, boss, ben, cube):
    first, second = (add(alice, f"{FERRY} Trip {number}.", writable_cube_ids=["alice"])[0] for number in (1, 2))
    share(boss, cube, ben, level="write")
    add(bob, writable_cube_ids=["bob"])
    asked = {"mem_cube_id": cube["id"], "record_id": "all"}

    for named in (cube["id"], "alice"):
        refuse(bob.post(DELETE, {**asked, "mem_cube_id": named}), 404)
        # Naming an own cube as well does not change that.
        for where in ({"user_id": "ann"}, {"filter": {"role": "user"}}, {"session_id": "s1"}):
            body = {"writable_cube_ids": ["bob", named], **where}
            refuse(bob.post("/product/delete_memory", body), 403, "memory_ids")
    data_of(alice.post(DELETE, asked))
    refuse(bob.post(RECOVER, asked), 404)
    data_of(alice.post(RECOVER, asked))
    assert Memory.objects.across_namespaces().filter(state="active").count() == 3

    named = {"writable_cube_ids": [cube["id"]], "memory_ids": [first["memory_id"]]}
    assert data_of(bob.post("/product/delete_memory", named))["deleted"] == 1
    assert find(alice, readable_cube_ids=["alice"]) == [second["memory"]]


def test_one_memory_of_a_cube_is_read_corrected_and_deleted(alice, bob):
    memory = add(alice, writable_cube_ids=["alice"])[0]["memory_id"]
    path = f"/memories/alice/{memory}"

    refuse(bob.get(path), 404)
    refuse(bob.get(f"/memories/bob/{memory}"), 404, "no memory")
    for method, body in (("put", {"memory": "x"}), ("delete", None)):
        refuse(send(bob, method, path, body), 404)
        refuse(send(bob, method, f"/memories/bob/{memory}", body), 404)
    refuse(send(alice, "put", path, {}), 400, "memory")
    assert data_of(alice.get(path))["memory"] == FERRY
    corrected = data_of(send(alice, "put", path, {"memory": "The ferry to Aegina leaves at ten."}))
    assert corrected["memory"].endswith("ten.")
    assert data_of(send(alice, "delete", path))["deleted"] == 1
    assert Memory.objects.in_scope(alice.scope).get(pk=memory).state == "archived"


def test_a_cube_is_shared_and_ended_and_a_key_says_whose_it_is(alice, bob, boss, ben, cube):
    refuse(alice.get("/users/me"), 404, "owner")
    refuse(bob.post("/mem_cubes/alice/share", {"target_user_id": str(ben.pk)}), 404)
    refuse(send(bob, "delete", "/mem_cubes/alice"), 404)
    shared = data_of(boss.post(f"/mem_cubes/{cube['id']}/share", {"target_user_id": "ben"}))
    assert shared == {"mem_cube_id": cube["id"], "target_user_id": str(ben.pk), "level": "read"}
    me = data_of(bob.get("/users/me"))
    assert (me["user_id"], me["cubes"]) == ("ben", ["bob"])
    assert [(one["mem_cube_id"], one["level"]) for one in me["accessible_cubes"]] == [("alice", "read")]
    assert data_of(send(alice, "delete", "/mem_cubes/alice")) == {"mem_cube_id": "alice"}
    assert data_of(bob.get("/users/me"))["accessible_cubes"] == []
    share(boss, boss.post("/v1/cubes/register", {"namespace": "alice", "name": "Again"}).json(), ben)
