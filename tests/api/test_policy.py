"""/v1/policy: reading and changing the rules of a namespace."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import ModelPurpose
from memory.errors import PreconditionFailed
from memory.models import AuditLog, Namespace, NamespacePolicy
from memory.policy_values import KNOBS
from memory.services.summaries.condense import condense_session
from memory.services.tenancy import policy as service
from tests.providers.endpoint import serving


def put(tenant, policy, *, namespace=None, etag=None, **fields):
    headers = {"If-Match": etag} if etag is not None else {}
    body = {"namespace": namespace or tenant.scope.namespace, "policy": policy, **fields}
    return tenant.client.put("/v1/policy", data=body, content_type="application/json", headers=headers)


def problems(answer) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    return {entry["field"]: entry["problem"] for entry in answer.json()["error"]["detail"]}


def value(answer, key) -> tuple:
    [found] = [entry for entry in answer.json()["values"] if entry["key"] == key]
    return found["value"], found["origin"]


def test_a_stranger_is_refused(olga):
    assert olga.get("/v1/policy").status_code == 401
    assert olga.put("/v1/policy").status_code == 401


def test_reading_needs_the_read_scope_and_changing_the_admin_scope(make_tenant):
    reader, writer = make_tenant("shop", scopes=("read",)), make_tenant("shop", scopes=("write",))

    assert reader.get("/v1/policy", namespace="shop").status_code == 200
    assert writer.get("/v1/policy", namespace="shop").status_code == 403
    assert put(reader, {}).status_code == put(writer, {}).status_code == 403


def test_another_tenants_policy_can_neither_be_read_nor_changed(alice, bob):
    put(bob, {"ttl_days": 5})

    assert alice.get("/v1/policy", namespace="bob").status_code == 404
    assert put(alice, {"ttl_days": 1}, namespace="bob").status_code == 404
    assert value(bob.get("/v1/policy", namespace="bob"), "ttl_days") == (5, "namespace")
    assert value(alice.get("/v1/policy", namespace="alice"), "ttl_days") == (0, "default")


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"halflife": 3}, "policy.halflife"),
        ({"decay": {"half_life": 3}}, "policy.decay.half_life"),
        ({"decay": {"half_life_days": {"gossip": 3}}}, "policy.decay.half_life_days.gossip"),
        ({"decay": {"half_life_days": {"said": -1}}}, "policy.decay.half_life_days.said"),
        ({"decay": {"half_life_days": 30}}, "policy.decay.half_life_days"),
        ({"decay": []}, "policy.decay"),
        ({"decay": {"floor": 0.5}}, "policy.decay.floor"),
        ({"decay": {"floor": "0.1"}}, "policy.decay.floor"),
        ({"decay": {"floor": None}}, "policy.decay.floor"),
        ({"decay": {"enabled": 1}}, "policy.decay.enabled"),
        ({"ttl_days": True}, "policy.ttl_days"),
        ({"ttl_days": 1.5}, "policy.ttl_days"),
        ({"ttl_days": -1}, "policy.ttl_days"),
        ({"ttl_days": 10**30}, "policy.ttl_days"),
        ({"legal_hold": "yes"}, "policy.legal_hold"),
        ({"gate": {"personal_data": "delete"}}, "policy.gate.personal_data"),
        ({"decay.floor": 0.1}, "policy.decay.floor"),
    ],
)
def test_a_wrong_value_is_refused_by_name(alice, policy, field):
    assert field in problems(put(alice, policy))
    assert not NamespacePolicy.objects.across_namespaces().exists()


@pytest.mark.parametrize(
    ("policy", "field", "other"),
    [
        ({"gate": {"strict": True, "worth_threshold": 0}}, "policy.gate.worth_threshold", "gate.strict"),
        ({"decay": {"half_life_days": {"said": 0.1}}}, "policy.decay.half_life_days.said", "decay.floor"),
        ({"decay": {"half_life_days": {"episode": 400}}}, "policy.decay.half_life_days.episode", "episodes"),
        ({"decay": {"half_life_days": {"episode": 0}}}, "policy.decay.half_life_days.episode", "episodes"),
        ({"ttl_days": 1, "working_memory": {"hours": 48}}, "policy.ttl_days", "working_memory.hours"),
        ({"quota": {"memories": 10, "writes_per_day": 20}}, "policy.quota.writes_per_day", "quota.memories"),
    ],
)
def test_values_that_contradict_each_other_are_refused_with_what_mends_them(alice, policy, field, other):
    found = problems(put(alice, policy))

    assert other in found[field]
    assert not NamespacePolicy.objects.across_namespaces().exists()


def test_a_value_may_contradict_the_environment_too(alice, settings):
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "working_memory.hours": 100}

    assert "policy.ttl_days" in problems(put(alice, {"ttl_days": 2}))


def test_every_mistake_is_named_at_once(alice):
    wrong = {"ttl_days": -1, "decay": {"floor": 7, "speed": 1}, "colour": "red"}

    assert set(problems(put(alice, wrong))) == {
        "policy.ttl_days",
        "policy.decay.floor",
        "policy.decay.speed",
        "policy.colour",
    }


def test_a_body_of_ten_thousand_mistakes_has_a_bounded_answer(alice):
    found = problems(put(alice, {f"key{number}" + "x" * 500: number for number in range(10_000)}))

    assert len(found) == 50
    assert max(map(len, found)) < 120


@pytest.mark.parametrize("body", [{}, {"namespace": "alice"}, {"namespace": "alice", "policy": []}])
def test_a_body_without_a_policy_is_refused(alice, body):
    assert alice.client.put("/v1/policy", data=body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("etag", ["7", '"x"', '"1", "2"', '"-1"', ""])
def test_an_if_match_that_is_no_etag_is_refused(alice, etag):
    assert "If-Match" in problems(put(alice, {}, etag=etag))


def test_a_namespace_that_sets_nothing_has_every_value_by_default(alice):
    answer = alice.get("/v1/policy", namespace="alice")

    body = answer.json()
    assert (body["version"], body["overrides"], answer["ETag"]) == (0, {}, '"0"')
    assert [entry["key"] for entry in body["values"]] == [knob.key for knob in KNOBS]
    assert {entry["origin"] for entry in body["values"]} == {"default"}
    assert body["policy"]["decay"]["half_life_days"]["said"] == 180


def test_each_value_says_where_it_comes_from(alice, settings):
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "ttl_days": 900, "decay.floor": 0.1}
    settings.MEMOS_POLICY_GIVEN = frozenset({"ttl_days", "decay.floor"})

    answer = put(alice, {"decay": {"floor": 0.2}})

    assert value(answer, "ttl_days") == (900, "environment")
    assert value(answer, "decay.floor") == (0.2, "namespace")
    assert value(answer, "legal_hold") == (False, "default")
    assert answer.json()["policy"]["decay"]["floor"] == 0.2


def test_a_put_replaces_what_the_namespace_set_before(alice):
    put(alice, {"ttl_days": 900, "legal_hold": True})
    answer = put(alice, {"ttl_days": 800.0})

    assert answer.json()["overrides"] == {"ttl_days": 800}
    assert value(answer, "legal_hold") == (False, "default")
    assert answer["ETag"] == '"2"'


def test_a_change_is_versioned_and_audited_with_before_and_after(alice):
    put(alice, {"ttl_days": 900}, reason="first")
    put(alice, {"ttl_days": 800}, reason="lawyers said so")

    event = AuditLog.objects.across_namespaces().filter(event_type="POLICY_CHANGE").latest("id")
    assert event.details == {
        "reason": "lawyers said so",
        "before": {"version": 1, "overrides": {"ttl_days": 900}},
        "after": {"version": 2, "overrides": {"ttl_days": 800}},
        "changed": {"ttl_days": [900, 800]},
    }
    assert event.actor == alice.scope.actor
    first = alice.get("/v1/policy", namespace="alice", version="1").json()
    assert (first["overrides"], first["reason"], first["updated_by"]) == ({"ttl_days": 900}, "first", alice.scope.actor)
    assert alice.get("/v1/policy", namespace="alice", version="0").json()["overrides"] == {}
    assert alice.get("/v1/policy", namespace="alice", version="3").status_code == 404


def test_the_same_policy_again_changes_nothing(alice):
    put(alice, {"ttl_days": 900, "legal_hold": True})
    answer = put(alice, {"legal_hold": True, "ttl_days": 900})

    assert answer.json()["version"] == 1
    assert AuditLog.objects.across_namespaces().filter(event_type="POLICY_CHANGE").count() == 1


def test_a_change_of_what_was_not_read_is_refused(alice):
    etag = put(alice, {"ttl_days": 900})["ETag"]
    assert put(alice, {"ttl_days": 800}, etag=etag).status_code == 200

    late = put(alice, {"ttl_days": 700}, etag=etag)

    assert late.status_code == 412
    assert late.json()["error"]["code"] == "precondition_failed"
    assert "version 2, not 1" in late.json()["error"]["message"]
    assert put(alice, {"ttl_days": 700}, etag="*").status_code == 200
    assert put(alice, {"ttl_days": 600}, etag='W/"3"').status_code == 200


def test_a_policy_may_be_set_before_the_first_memory(make_tenant):
    any_namespace = make_tenant("any", all_namespaces=True)

    assert put(any_namespace, {"ttl_days": -1}, namespace="new").status_code == 400
    assert not Namespace.objects.filter(name="new").exists()
    assert put(any_namespace, {"ttl_days": 900}, namespace="new").status_code == 200


def test_a_policy_that_the_environment_has_made_contradictory_says_so(alice, settings):
    put(alice, {"ttl_days": 2})
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "working_memory.hours": 100}

    answer = alice.get("/v1/policy", namespace="alice")

    assert list(answer.json()["problems"]) == ["ttl_days"]


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_with_one_etag_one_wins(alice):
    done: list[object] = []

    def change(days):
        try:
            done.append(
                service.put_policy(alice.scope, wanted={"ttl_days": days}, expected=0, now=timezone.now()).version
            )
        except PreconditionFailed as error:
            done.append(error.status)
        finally:
            connection.close()

    threads = [threading.Thread(target=change, args=(days,)) for days in (900, 800)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(done) == [1, 412]
    assert NamespacePolicy.objects.across_namespaces().count() == 1


class TestModels:
    """A namespace may choose the language model of a purpose."""

    @pytest.mark.parametrize(
        ("model", "problem"),
        [
            ("nowhere/m", "names a provider that there is not: choose one of openai, anthropic"),
            ("anthropic/claude", "needs MEMOS_ANTHROPIC_API_KEY on the server: choose another provider."),
            ("ollama/llama", "needs MEMOS_OLLAMA_BASE_URL on the server: choose another provider."),
            ("openai/dear", "is not allowed on this server: choose one of openai/cheap, qwen/*."),
            ("gpt-4o", "must be the name of a model as provider/model, or empty for the server's."),
            ("openai/", "must be the name of a model"),
            (7, "must be the name of a model"),
            (None, "must be the name of a model"),
        ],
    )
    def test_one_that_cannot_be_asked_is_refused(self, alice, settings, model, problem):
        settings.MEMOS_LLM_API_KEY, settings.MEMOS_LLM_ALLOWED_MODELS = "k", ["openai/cheap", "qwen/*"]
        found = problems(put(alice, {"models": {"answer": model}}))
        assert found["policy.models.answer"].startswith(problem)

    def test_it_is_asked_in_place_of_that_of_the_settings_and_named_when_it_no_longer_can_be(
        self, alice, remember, settings
    ):
        with serving(lambda body: (500, {})) as cloud, serving(lambda body: (500, {})) as own:
            settings.MEMOS_LLM_ENABLED, settings.MEMOS_LLM_API_KEY = True, "k"
            settings.MEMOS_LLM_BASE_URL, settings.MEMOS_OLLAMA_BASE_URL = cloud.url, own.url
            assert put(alice, {"models": {"summarise": "ollama/smol:1b"}}).status_code == 200
            assert value(alice.get("/v1/policy", namespace="alice"), "models.summarise") == (
                "ollama/smol:1b",
                "namespace",
            )
            for text in ("I prefer tea.", "We ship on Friday.", "Never call before nine.", "I moved to Oslo."):
                remember(alice, text)
            condense_session(alice.scope, session="s1", now=timezone.now())
            assert [one.body["model"] for one in own.asked] == ["smol:1b"]
            assert cloud.asked == []

            settings.MEMOS_OLLAMA_BASE_URL = ""
            assert list(alice.get("/v1/policy", namespace="alice").json()["problems"]) == ["models.summarise"]

    def test_left_out_it_is_that_of_the_settings(self, alice, settings):
        settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"models.answer": "openai/m"}
        assert value(alice.get("/v1/policy", namespace="alice"), "models.answer")[0] == "openai/m"
        assert service.in_force(alice.scope.namespace_id).policy.models[ModelPurpose.JUDGE] == ""
