"""`GET /v1/users/{id}/profile`: refusals first, then the preferences of a user with their evidence."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.preferences.read import read_session
from memory.services.tenancy.policy import put_policy


@pytest.fixture
def user(alice) -> str:
    answer = alice.post("/v1/users", {"namespace": "alice", "name": "ana", "display_name": "Ana"})
    assert answer.status_code == 201, answer.content
    return answer.json()["id"]


@pytest.fixture
def told(alice, remember) -> list[str]:
    put_policy(alice.scope, wanted={"preferences": "rules"}, now=timezone.now())
    turns = [
        remember(alice, "I love cilantro.", speaker="Ana"),
        remember(alice, "I'm allergic to nuts.", speaker="ana"),
        remember(alice, "I don't like cilantro any more.", speaker="Ana"),
        remember(alice, "I avoid lifts.", speaker="Ben"),
    ]
    read_session(alice.scope, session="s1", now=timezone.now())
    return turns


def test_nobody_else_sees_it(olga, bob, user):
    assert olga.get(f"/v1/users/{user}/profile").status_code == 401
    assert bob.get(f"/v1/users/{user}/profile").status_code == 404
    assert bob.get(f"/v1/users/{uuid.uuid4()}/profile").status_code == 404


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"attitude": "adores"}, {"cursor": "x"}, {"current": "maybe"}])
def test_wrong_parameters_are_named(alice, user, wrong):
    answer = alice.get(f"/v1/users/{user}/profile", **wrong)
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.content.decode()


def test_each_line_has_its_evidence(alice, user, told):
    said = alice.get(f"/v1/users/{user}/profile").json()
    assert (said["user_id"], said["name"], said["next_cursor"]) == (user, "ana", None)
    lines = [(one["attitude"], one["object"], one["wanted"], one["evidence"]) for one in said["preferences"]]
    assert lines == [("dislike", "cilantro", False, [told[2]]), ("constraint", "nuts", False, [told[1]])]


def test_what_was_superseded_is_there_when_asked_for(alice, user, told):
    [former] = alice.get(f"/v1/users/{user}/profile", current="false").json()["preferences"]
    assert (former["object"], former["wanted"], former["evidence"]) == ("cilantro", True, [told[0]])
    assert former["valid_to"]
    assert former["superseded_by"]
    assert len(alice.get(f"/v1/users/{user}/profile", current="").json()["preferences"]) == 3


def test_it_comes_in_pages_and_by_attitude(alice, user, told):
    first = alice.get(f"/v1/users/{user}/profile", limit=1).json()
    rest = alice.get(f"/v1/users/{user}/profile", limit=1, cursor=first["next_cursor"]).json()
    assert [one["object"] for one in first["preferences"] + rest["preferences"]] == ["cilantro", "nuts"]
    assert rest["next_cursor"] is None
    [line] = alice.get(f"/v1/users/{user}/profile", attitude="constraint").json()["preferences"]
    assert line["object"] == "nuts"


def test_what_a_client_wrote_over_it_does_not_break_it(alice, user, told):
    Memory.objects.in_scope(alice.scope).preferences().update(metadata={"preference": ["x"]})
    lines = alice.get(f"/v1/users/{user}/profile").json()["preferences"]
    assert {line["attitude"] for line in lines} == {""}
