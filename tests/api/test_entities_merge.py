"""/v1/entities/{entity_id}/merge and /split: names move to another entity and back."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.models import AuditLog, Entity, EntityAlias, EntityMention
from memory.services.entities import extract

ANYONE = str(uuid.uuid4())


def read() -> None:
    extract.index_pending(now=timezone.now())


@pytest.fixture
def people(alice, remember):
    """Remember Mel and Melanie, one person whom no rule recognises as one."""
    remember(alice, "I had tea with Mel.", speaker="Tom")
    remember(alice, "Then Melanie lives in Berlin.", speaker="Tom", session="s2")
    read()
    return {row.name: str(row.id) for row in Entity.objects.in_scope(alice.scope)}


def alias_ids(tenant, *names) -> list[str]:
    rows = EntityAlias.objects.in_scope(tenant.scope).filter(name__in=names)
    return [str(row.id) for row in rows]


def shown(tenant, identity) -> dict:
    return tenant.get(f"/v1/entities/{identity}", namespace=tenant.scope.namespace).json()


def merge(tenant, target, source, **changes):
    body = {"namespace": tenant.scope.namespace, "source_id": source, "reason": "the same person", **changes}
    return tenant.post(f"/v1/entities/{target}/merge", body)


def split(tenant, identity, **changes):
    body = {"namespace": tenant.scope.namespace, "reason": "two people", **changes}
    return tenant.post(f"/v1/entities/{identity}/split", body)


@pytest.mark.parametrize("verb", ["merge", "split"])
def test_changing_needs_the_write_scope(make_tenant, olga, verb):
    reader = make_tenant("shop", scopes=("read",))

    assert olga.post(f"/v1/entities/{ANYONE}/{verb}").status_code == 401
    assert reader.post(f"/v1/entities/{ANYONE}/{verb}", {"namespace": "shop"}).status_code == 403


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"source_id": "x"}, "source_id"), ({"reason": ""}, "reason"), ({"reason": "x" * 301}, "reason")],
)
def test_a_wrong_merge_is_refused(alice, people, changes, field):
    answer = merge(alice, people["Melanie"], people["Mel"], **changes)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_what_cannot_be_merged_is_refused(alice, bob, remember, people):
    remember(bob, "Tom lives in Berlin.")
    read()
    of_bob = str(Entity.objects.in_scope(bob.scope).get(name="Tom").id)

    assert merge(alice, people["Mel"], people["Mel"]).status_code == 400
    assert merge(alice, people["Mel"], of_bob).status_code == 404
    assert merge(alice, of_bob, people["Mel"]).status_code == 404
    assert merge(alice, people["Mel"], people["Tom"], namespace="bob").status_code == 404
    assert not AuditLog.objects.across_namespaces().filter(event_type="ENTITY_MERGE").exists()


def test_what_is_merged_already_is_named_in_the_refusal(alice, people):
    merge(alice, people["Melanie"], people["Mel"])

    assert merge(alice, people["Melanie"], people["Mel"]).status_code == 200
    for target, source in ((people["Tom"], people["Mel"]), (people["Mel"], people["Tom"])):
        answer = merge(alice, target, source)
        assert answer.status_code == 409
        assert people["Melanie"] in answer.json()["error"]["message"]


def test_merged_entities_have_all_names_and_mentions(alice, people):
    answer = merge(alice, people["Melanie"], people["Mel"])

    assert answer.json() == {"entity_id": people["Melanie"], "name": "Melanie", "kind": "person"}
    for identity in (people["Melanie"], people["Mel"]):
        body = shown(alice, identity)
        assert body["entity"]["id"] == people["Melanie"]
        assert {(row["name"], row["link"]) for row in body["aliases"]} == {("Melanie", "own"), ("Mel", "staff")}
        assert len(body["timeline"]) == 2
    event = AuditLog.objects.across_namespaces().get(event_type="ENTITY_MERGE")
    assert (event.subject, event.details["source"]) == (people["Melanie"], people["Mel"])
    assert "Mel" not in str(event.details)


def test_a_later_mention_goes_to_the_merged_entity_and_a_rebuild_keeps_it(alice, people, remember):
    merge(alice, people["Melanie"], people["Mel"])
    remember(alice, "I had coffee with Mel.", speaker="Tom", session="s3")
    read()
    extract.rebuild(alice.scope, now=timezone.now())
    read()

    assert shown(alice, people["Melanie"])["entity"]["mentions"] == 3


def test_splitting_undoes_a_merge(alice, people):
    before = shown(alice, people["Mel"])
    merge(alice, people["Melanie"], people["Mel"])

    answer = split(alice, people["Melanie"], alias_ids=alias_ids(alice, "Mel"))

    assert answer.json()["entity_id"] == people["Mel"]
    after = shown(alice, people["Mel"])
    assert [row["id"] for row in after["timeline"]] == [row["id"] for row in before["timeline"]]
    assert shown(alice, people["Melanie"])["entity"]["mentions"] == 1
    assert AuditLog.objects.across_namespaces().get(event_type="ENTITY_SPLIT").details["into"] == people["Mel"]


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({}, 400, "alias_ids"),
        ({"alias_ids": "x"}, 400, "alias_ids"),
        ({"alias_ids": [ANYONE], "mention_ids": [ANYONE]}, 400, "alias_ids"),
        ({"alias_ids": [ANYONE]}, 404, "alias_ids"),
        ({"mention_ids": [ANYONE]}, 404, "mention_ids"),
        ({"alias_ids": [ANYONE], "reason": " "}, 400, "reason"),
    ],
)
def test_a_wrong_split_is_refused(alice, people, changes, status, field):
    answer = split(alice, people["Mel"], **changes)

    assert answer.status_code == status
    detail = answer.json()["error"]["detail"]
    assert (detail[0] if isinstance(detail, list) else detail)["field"] == field


def test_an_entity_keeps_a_name_and_a_mention(alice, people):
    only = str(EntityMention.objects.across_namespaces().get(alias__in=alias_ids(alice, "Mel")).id)

    assert split(alice, people["Mel"], alias_ids=alias_ids(alice, "Mel")).status_code == 400
    assert split(alice, people["Mel"], mention_ids=[only]).status_code == 400


def test_a_name_that_a_rule_gave_is_taken_off_for_good(alice, remember):
    remember(alice, "I met Anna Keller yesterday.")
    remember(alice, "Then Anna told me about Tom.")
    read()
    keller = str(Entity.objects.across_namespaces().get(name="Anna Keller").id)

    split(alice, keller, alias_ids=alias_ids(alice, "Anna"))
    remember(alice, "Anna Keller is here, and Anna told me so.")
    read()

    assert {row["name"] for row in shown(alice, keller)["aliases"]} == {"Anna Keller"}
    assert len(shown(alice, str(EntityAlias.objects.across_namespaces().get(name="Anna").entity))["timeline"]) == 2


def test_the_own_name_of_an_entity_can_be_taken_off(alice, people):
    merge(alice, people["Melanie"], people["Mel"])
    answer = split(alice, people["Melanie"], alias_ids=alias_ids(alice, "Melanie"))

    assert answer.json()["entity_id"] != people["Melanie"]
    assert answer.json()["name"] == "Melanie"
    assert shown(alice, people["Melanie"])["entity"]["name"] == "Mel"


def test_two_people_of_one_name_are_told_apart_by_their_sessions(alice, remember):
    remember(alice, "I met Tom at work.", session="work")
    remember(alice, "Tom lives in Berlin.", session="home")
    read()
    tom = str(Entity.objects.across_namespaces().get(name="Tom").id)
    at_home = str(
        EntityMention.objects.across_namespaces().get(memory__session="home", alias__in=alias_ids(alice, "Tom")).id
    )

    other = split(alice, tom, mention_ids=[at_home]).json()["entity_id"]
    remember(alice, "I saw Tom again.", session="home")
    remember(alice, "I saw Tom again.", session="work")
    remember(alice, "I saw Tom again.", session="elsewhere")
    read()
    extract.rebuild(alice.scope, now=timezone.now())
    read()

    of = {identity: [row["session_id"] for row in shown(alice, identity)["timeline"]] for identity in (tom, other)}
    assert sorted(of[tom]) == ["elsewhere", "work", "work"]
    assert of[other] == ["home", "home"]
    assert [edge["predicate"] for edge in shown(alice, other)["edges"]][:1] == ["lives_in"]
    assert "lives_in" not in {edge["predicate"] for edge in shown(alice, tom)["edges"]}
