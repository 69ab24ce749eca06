from __future__ import annotations

import pytest
from django.utils import timezone

from memory.models import Entity, Job, Memory, Namespace, NamespacePolicy, Session
from memory.services.monitoring.namespaces import Used
from ops.pages import namespace as page_of_namespace
from tests.ops.conftest import HOSTILE, scope_of, turns

URL = "/ops/ns/"
ODD = "a/b ?&#%25 <i>x</i>"


def tenant(client, ns="harbour"):
    response = client.get(URL, {"ns": ns})
    assert response.status_code == 200
    return response.context["tenant"]


def test_one_out_of_reach_does_not_exist(world, grant_console):
    baker = grant_console("bakery")
    assert baker.get(URL, {"ns": "harbour"}).status_code == 404
    assert baker.get(f"{URL}harbour/").status_code == 404
    assert "harbour" not in baker.get(URL).content.decode()
    assert baker.get(f"{URL}bakery/", follow=True).status_code == 200


def test_the_list_counts_what_the_tables_hold(world, staff):
    rows = {one.namespace.name: one for one, _link in staff.get(URL).context["rows"]}
    assert set(rows) == set(Namespace.objects.values_list("name", flat=True))
    assert (rows["harbour"].memories, rows["harbour"].sessions) == (4, 1)
    assert [one.namespace.name for one, _ in staff.get(URL, {"q": "bak"}).context["rows"]] == ["bakery"]


def test_numbers_are_those_of_the_tables(world, staff):
    turns(world.harbour, "day shift", "The tide turns at four.")
    tiles = {str(tile.title): tile.value for tile in tenant(staff).tiles}
    own = {"namespace_id": world.harbour.namespace_id}
    assert tiles["Memories"] == str(Memory.objects.filter(**own, state="active").count()) == "5"
    assert tiles["Sessions"] == str(Session.objects.filter(**own).count())
    assert tiles["Entities"] == str(Entity.objects.filter(**own, merged_into=None).count())
    assert tiles["Packs"] == "1"
    assert tenant(staff).grown == Memory.objects.filter(**own).count()
    assert tenant(staff, "bakery").grown == 1


def test_states_policy_quota_keys_and_errors_are_told(world, staff):
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(state="archived")
    NamespacePolicy.objects.create(
        namespace_id=world.harbour.namespace_id, version=1, overrides={"quota.memories": 8}, updated_by="ann"
    )
    Job.objects.create(
        namespace_id=world.harbour.namespace_id, kind="condense_session", state="failed", error_type="OSError",
        error=HOSTILE, finished_at=timezone.now(),
    )  # fmt: skip
    found = tenant(staff)
    assert [segment.shown for segment in found.states.segments][1] == "1"
    assert found.quotas[0].percent == 50
    assert [one.key for one in found.overrides] == ["quota.memories"]
    assert [one.key.name for one in found.keys] == ["Dock agent"]
    page = staff.get(URL, {"ns": "harbour"}).content.decode()
    assert "<script>alert" not in page
    assert "OSError" in page
    assert tenant(staff, "bakery").errors == []


def test_any_text_can_be_a_name(world, staff):
    scope = scope_of(ODD)
    turns(scope, "s", "The tide turns.")
    [link] = [link for one, link in staff.get(URL).context["rows"] if one.namespace.name == ODD]
    page = staff.get(link)
    assert page.status_code == 200
    assert "<i>x</i>" not in page.content.decode()
    for one in tenant(staff, ODD).pages:
        assert staff.get(one.link).status_code == 200, one.link
    for tile in tenant(staff, ODD).tiles:
        if tile.link:
            assert staff.get(tile.link).status_code == 200, tile.link


def test_links_to_the_admin_are_for_those_who_may_see_it(world, grant_console):
    page = grant_console("harbour").get(URL, {"ns": "harbour"}).content.decode()
    assert "/admin/memory/" not in page


@pytest.mark.parametrize("count", [10, 500])
def test_it_costs_as_many_queries_for_many_rows(world, staff, django_assert_max_num_queries, count):
    for number in range(count):
        Job.objects.create(namespace_id=world.harbour.namespace_id, kind="erase", state="failed", arguments=[number])
    Session.objects.bulk_create(
        Session(namespace_id=world.harbour.namespace_id, name=f"s{number}", message_count=1) for number in range(count)
    )
    Namespace.objects.bulk_create(Namespace(name=f"n{number}") for number in range(count))
    with django_assert_max_num_queries(24):
        staff.get(URL, {"ns": "harbour"})
    with django_assert_max_num_queries(7):
        staff.get(URL)


def test_a_quota_of_nothing_is_no_division():
    assert page_of_namespace._quota(Used("quota.memories", 5, 0)).percent is None
