from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.errors import InvalidInput
from memory.models import AuditLog, Memory, NamespacePolicy
from memory.services.tenancy import policy
from tests.ops.conftest import NOW, World

URL, CHANGE, BACK = "/ops/policies/", "/ops/policies/change/?ns=harbour", "/ops/policies/put-back/?ns=harbour"


def hidden(page: str, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', page)[1]


def test_the_namespaces_that_one_reaches_are_listed(world, staff, grant_console):
    policy.put_policy(world.harbour, wanted={"ttl_days": 30, "legal_hold": True}, now=NOW)
    page = staff.get(URL).content.decode()
    assert re.search(r"ns=harbour\">harbour</a></th><td[^>]*>1</td><td[^>]*>2</td>", page)
    clerk = grant_console("bakery")
    assert "harbour" not in clerk.get(URL).content.decode()
    assert clerk.get(URL, {"ns": "harbour"}).status_code == 404


def test_each_value_has_its_origin(world, staff, settings):
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "retention.packs_days": 45}
    settings.MEMOS_POLICY_GIVEN = frozenset({"retention.packs_days"})
    policy.put_policy(world.harbour, wanted={"ttl_days": 30}, now=NOW)
    page = staff.get(URL, {"ns": "harbour"}).content.decode()
    knobs = dict(re.findall(r'<li class="knob" id="([^"]+)">(.*?)</li>', page, re.S))
    assert len(knobs) == len(policy.BY_KEY)
    assert "Namespace</span>" in knobs["ttl_days"]
    assert 'value="30"' in knobs["ttl_days"]
    assert "Environment</span>" in knobs["retention.packs_days"]
    assert 'placeholder="45"' in knobs["retention.packs_days"]
    assert "Default</span>" in knobs["quota.memories"]


def test_who_may_not_change_sees_values_and_no_form(world, grant_console):
    clerk = grant_console("harbour")
    page = clerk.get(URL, {"ns": "harbour"}).content.decode()
    assert "Can change namespace policy" in page
    assert 'value="preview"' not in page
    assert clerk.post(CHANGE, {"do": "save", "value:ttl_days": "3"}).status_code == 403
    assert clerk.post(BACK, {"number": "0"}).status_code == 403
    assert not NamespacePolicy.objects.across_namespaces().exists()


def test_values_tried_on_the_decay_page_stand_in_the_form(world, staff, grant_console):
    policy.put_policy(world.harbour, wanted={"legal_hold": True}, now=NOW)
    decay = staff.get("/ops/decay/", {"ns": "harbour", "said": "40", "floor": "0.2"}).content.decode()
    link = re.search(r'href="(/ops/policies/[^"]*)"[^>]*>(?:(?!</a>).)*Open in Policies', decay, re.S)[1]
    page = staff.get(html.unescape(link)).content.decode()
    assert re.search(r'name="value:decay.half_life_days.said" value="40"', page)
    assert re.search(r'name="value:decay.floor" value="0.2"', page)
    assert re.search(r'<option value="true" selected>', page)
    assert "Nothing is saved yet" in page
    assert policy.governing(world.harbour.namespace_id).version == 1
    saved = {"value:decay.half_life_days.said": "40", "value:decay.floor": "0.2", "value:legal_hold": "true"}
    kept = {name: hidden(page, name) for name in ("version", "digest")}
    assert staff.post(CHANGE, {"do": "save", "reason": "", **saved, **kept}).status_code == 302
    assert policy.governing(world.harbour.namespace_id).overrides["decay.floor"] == 0.2

    clerk = grant_console("harbour")
    assert "value:decay.floor" not in clerk.get(URL, {"ns": "harbour", "floor": "0.3"}).content.decode()


def test_a_get_changes_nothing(world, staff):
    assert staff.get(CHANGE).status_code == 405
    assert staff.get(BACK).status_code == 405


def test_out_of_reach_is_not_found(world, grant_console):
    clerk = grant_console("bakery", permissions=("memory.change_namespacepolicy",))
    assert clerk.post(CHANGE, {"do": "preview"}).status_code == 404
    assert clerk.post(BACK, {"number": "0"}).status_code == 404


def test_the_preview_names_what_would_be_archived_and_saves_nothing(world: World, staff):
    Memory.objects.across_namespaces().filter(pk__in=world.ids[:2]).update(
        created_at=timezone.now() - timedelta(days=40)
    )
    Memory.objects.across_namespaces().filter(pk__in=world.ids[2:]).update(created_at=timezone.now())
    page = staff.post(CHANGE, {"do": "preview", "version": "0", "value:ttl_days": "20"}).content.decode()
    active = Memory.objects.filter(namespace_id=world.harbour.namespace_id, state="active").count()
    assert f"would archive <strong>2</strong> of {active} active memories" in page
    assert "The harbour pilot Tove boards at buoy seven." in page
    assert "<ins>20</ins>" in page
    assert not NamespacePolicy.objects.across_namespaces().exists()


def test_only_what_was_previewed_is_saved(world, staff):
    first = staff.post(CHANGE, {"do": "save", "version": "0", "value:ttl_days": "20"}).content.decode()
    assert "What saving would do" in first
    assert not NamespacePolicy.objects.across_namespaces().exists()
    digest = hidden(first, "digest")
    other = {"do": "save", "version": "0", "value:ttl_days": "25", "digest": digest}
    assert "changed after the preview" in staff.post(CHANGE, other).content.decode()
    assert not NamespacePolicy.objects.across_namespaces().exists()
    answer = staff.post(CHANGE, {**other, "value:ttl_days": "20", "reason": "Old news"})
    assert answer.status_code == 302
    row = NamespacePolicy.objects.across_namespaces().get()
    assert (row.overrides, row.reason, row.updated_by) == ({"ttl_days": 20}, "Old news", "staff:ann")
    assert AuditLog.objects.across_namespaces().filter(event_type="POLICY_CHANGE").count() == 1


def test_mistakes_stand_at_their_fields_and_what_was_typed_stays(world, staff):
    answer = staff.post(
        CHANGE, {"do": "preview", "version": "0", "value:ttl_days": "many", "value:decay.floor": "7", "reason": "Why"}
    )
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="wrong-ttl_days"' in page
    assert 'id="wrong-decay.floor"' in page
    assert 'value="many"' in page
    assert 'value="Why"' in page


def test_values_that_contradict_each_other_are_named(world, staff):
    page = staff.post(CHANGE, {"do": "preview", "value:gate.strict": "true", "value:gate.worth_threshold": "0"})
    assert 'id="wrong-gate.worth_threshold"' in page.content.decode()


def test_of_two_people_the_second_is_told(world, staff):
    page = staff.post(CHANGE, {"do": "preview", "version": "0", "value:ttl_days": "20"}).content.decode()
    policy.put_policy(world.harbour, wanted={"legal_hold": True}, reason="Trial", now=NOW)
    typed = {"do": "save", "version": "0", "value:ttl_days": "20", "digest": hidden(page, "digest")}
    answer = staff.post(CHANGE, typed)
    assert answer.status_code == 412
    assert "saved version 1 while you were at it" in answer.content.decode()
    assert policy.governing(world.harbour.namespace_id).version == 1


def test_a_former_version_is_put_back_by_preview_and_save(world, staff):
    first = {"ttl_days": 30, "decay": {"half_life_days": {"said": 90}}}
    policy.put_policy(world.harbour, wanted=first, reason="First", now=NOW)
    policy.put_policy(world.harbour, wanted={**first, "ttl_days": 60}, reason="Second", now=NOW)
    page = staff.get(URL, {"ns": "harbour"}).content.decode()
    assert "<del>30</del> → <ins>60</ins>" in page
    page = staff.post(BACK, {"number": "1"}).content.decode()
    assert "<del>60</del> → <ins>30</ins>" in page
    assert policy.governing(world.harbour.namespace_id).version == 2
    assert 'value="Version 1 put back"' in page
    saved = {name: hidden(page, name) for name in ("version", "digest")}
    staff.post(CHANGE, {"do": "save", "value:ttl_days": "30", "value:decay.half_life_days.said": "90", **saved})
    assert policy.governing(world.harbour.namespace_id).version == 3
    assert policy.governing(world.harbour.namespace_id).overrides["ttl_days"] == 30
    assert staff.post(BACK, {"number": "99"}).status_code == 302


def test_texts_of_the_preview_are_masked(world, grant_console):
    Memory.objects.across_namespaces().update(created_at=timezone.now() - timedelta(days=40))
    clerk = grant_console("harbour", permissions=("memory.change_namespacepolicy",))
    page = clerk.post(CHANGE, {"do": "preview", "value:ttl_days": "20"}).content.decode()
    assert "•••" in page
    assert "Tove" not in page


@pytest.mark.parametrize("rows", [10, 500])
def test_the_page_asks_as_often_whatever_there_is(world, staff, django_assert_max_num_queries, rows):
    for number in range(1, rows + 1):
        NamespacePolicy.objects.create(
            namespace_id=world.harbour.namespace_id, version=number, overrides={"ttl_days": number}, updated_by="test"
        )
    with django_assert_max_num_queries(14):
        assert staff.get(URL, {"ns": "harbour"}).status_code == 200
    with django_assert_max_num_queries(8):
        assert staff.get(URL).status_code == 200


CHINESE = {"Accept-Language": "zh-CN"}


def words_of(page: str) -> str:
    """Return the visible text of the list of values, without tags, keys and names of settings."""
    listed = "".join(re.findall(r'<li class="knob[^>]*>(.*?)</li>', page, re.S))
    listed = re.sub(r'<span class="mono">[^<]*</span>|<input[^>]*>', "", listed)
    return html.unescape(re.sub(r"<[^>]+>", " ", listed))


def test_the_values_are_explained_in_chinese(world, staff):
    page = staff.get(URL, {"ns": "harbour"}, headers=CHINESE).content.decode()
    left = set(re.findall(r"[A-Za-z_.]{2,}", words_of(page)))
    # These words are values of the API, or have no other name.
    assert left <= {
        *("off", "redact", "quarantine", "reject", "accept", "token", "false", "true", "facts", "day", "month"),
        *("provider", "model", "UTC", "USD", "budget.soft_usd", "budget.hard_usd", "IANA", "Europe", "Vienna"),
        *("rules", "browse", "rank"),
    }


def test_what_is_wrong_is_said_in_chinese_and_to_the_api_in_english(world, staff):
    wrong = {"do": "preview", "value:ttl_days": "-1", "value:gate.secrets": "shred"}
    page = staff.post(CHANGE, wrong, headers=CHINESE).content.decode()
    assert "必须是 0 到 36,500 之间的整数（天）。" in page
    assert "must be" not in page
    at_odds = {"do": "preview", "value:gate.strict": "true", "value:gate.worth_threshold": "0"}
    assert "raise it above 0" not in staff.post(CHANGE, at_odds, headers=CHINESE).content.decode()
    with pytest.raises(InvalidInput, match="must be a whole number from 0 to"):
        policy.check_overrides({"ttl_days": -1})


def test_why_a_memory_would_go_is_said_in_chinese(world, staff):
    Memory.objects.filter(namespace__name="harbour").update(created_at=NOW - timedelta(days=400))
    typed = {"do": "preview", "value:ttl_days": "300"}
    page = staff.post(CHANGE, typed, headers=CHINESE).content.decode()
    assert "Its time to live" not in page
    assert "存活期已过。" in page
    assert "Its time to live is over." in staff.post(CHANGE, typed).content.decode()
