from __future__ import annotations

import re
import uuid

import pytest
from django.db import connection
from django.urls import reverse

from memory.models import AuditLog, Entity, EntityAlias, EntityMention, EntityRelation
from memory.models.queries.entities import MOST_MENTIONED
from memory.services.entities.extract import index_pending
from ops.pages import entities as page_of_entities
from tests.ops.conftest import NOW, World, scope_of, turns

LIST = "/ops/entities/"
READ = ("ops.view_memory_text",)


@pytest.fixture
def named(world: World) -> World:
    """Add entities to the world: Tove, Erik and the Harbour Office in `harbour`, and Selma in `bakery`."""
    turns(
        world.harbour,
        "minutes",
        "Tove works at the Harbour Office.",
        "Tove's brother Erik lives in Bergen.",
        "Erik met Tove <script>alert(1)</script> in Bergen.",
    )
    turns(scope_of("bakery"), "minutes", "Selma lives in Hamburg.")
    index_pending(now=NOW)
    return world


def entity(namespace: str, name: str) -> Entity:
    return Entity.objects.get(namespace=scope_of(namespace).namespace_id, name=name)


def url_of(found: Entity) -> str:
    return reverse("ops:entity", args=[found.id])


def test_without_a_namespace_there_are_those_that_one_reaches_with_counts(named, staff, grant_console):
    page = staff.get(LIST).content.decode()
    mentioned = EntityMention.objects.filter(namespace_id=named.harbour.namespace_id, active=True)
    aliases = EntityAlias.objects.across_namespaces().filter(id__in=mentioned.values("alias"))
    count = aliases.values("entity").distinct().count()
    assert re.search(rf'ns=harbour">harbour</a></th><td class="number">{count}<', page)
    clerk = grant_console("bakery").get(LIST).content.decode()
    assert "bakery" in clerk
    assert "harbour" not in clerk


def test_mentions_in_the_list_are_those_of_the_database(named, staff):
    page = staff.get(LIST, {"ns": "harbour"}).content.decode()
    tove = entity("harbour", "Tove")
    aliases = EntityAlias.objects.across_namespaces().filter(entity=tove.id).values("id")
    count = EntityMention.objects.across_namespaces().filter(alias__in=aliases, active=True).count()
    assert re.search(rf'{tove.id}/\?ns=harbour#mentions">{count}</a>', page)
    assert "Selma" not in page


def test_a_kind_narrows_the_list(named, staff):
    page = staff.get(LIST, {"ns": "harbour", "kind": "place"}).content.decode()
    assert "Bergen" in page
    assert "Tove" not in page


def test_names_are_searched_by_post_and_by_their_beginning(named, staff):
    page = staff.post("/ops/entities/search/?ns=harbour", {"begins": "to"}).content.decode()
    assert "Tove" in page
    assert "Erik" not in page
    assert staff.get("/ops/entities/search/?ns=harbour").status_code == 405


def test_one_who_may_not_read_cannot_search_and_sees_no_names(named, grant_console):
    clerk = grant_console("harbour")
    for url in (f"{LIST}?ns=harbour", url_of(entity("harbour", "Tove"))):
        page = clerk.get(url).content.decode()
        assert "Tove" not in page
        assert "Erik" not in page
        assert "Bergen" not in page
        assert "•••" in page
        assert "Can read what memories" in page
    assert clerk.post("/ops/entities/search/?ns=harbour", {"begins": "to"}).status_code == 403


def test_out_of_reach_is_not_found(named, grant_console):
    clerk = grant_console("bakery", permissions=(*READ, "memory.change_entity"))
    tove = entity("harbour", "Tove")
    assert clerk.get(LIST, {"ns": "harbour"}).status_code == 404
    assert clerk.get(url_of(tove)).status_code == 404
    assert clerk.post(reverse("ops:entity_merge", args=[tove.id]), {"reason": "x"}).status_code == 404
    assert clerk.post(reverse("ops:entity_split", args=[tove.id]), {"reason": "x"}).status_code == 404
    assert clerk.post(reverse("ops:entity_candidates", args=[tove.id]), {"begins": "x"}).status_code == 404
    assert clerk.get(reverse("ops:entity", args=[uuid.uuid4()])).status_code == 404


def test_one_entity_is_drawn_with_what_is_said_and_the_sentence_behind_it(named, staff):
    tove = entity("harbour", "Tove")
    page = staff.get(url_of(tove)).content.decode()
    assert "works at →" in page
    assert "Tove works at the Harbour Office." in page
    assert f'href="{url_of(entity("harbour", "Erik"))}?ns=harbour"' in page
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    stated = EntityRelation.objects.across_namespaces().filter(
        subject__in=EntityAlias.objects.across_namespaces().filter(entity=tove.id).values("id")
    )
    assert stated.exists()


def test_the_month_lists_as_many_mentions_as_its_column(named, staff):
    tove = entity("harbour", "Tove")
    page = staff.get(url_of(tove)).content.decode()
    count = int(re.search(r"month=2026-05#mentions\">2026-05</a></th><td class=\"number\">(\d+)<", page)[1])
    of_month = staff.get(url_of(tove), {"month": "2026-05"}).content.decode()
    assert of_month.count('class="mention-text"') == count
    assert 'class="mention-text"' not in staff.get(url_of(tove), {"month": "2025-01"}).content.decode()


def test_merging_asks_for_the_permission_and_can_be_taken_back(named, staff, grant_console):
    tove, erik = entity("harbour", "Tove"), entity("harbour", "Erik")
    merge = reverse("ops:entity_merge", args=[erik.id])
    clerk = grant_console("harbour", permissions=READ)
    assert clerk.post(merge, {"target": tove.id, "reason": "The same"}).status_code == 403
    assert staff.get(merge).status_code == 405
    staff.post(merge, {"target": tove.id, "reason": ""})
    assert entity("harbour", "Erik").merged_into is None
    answer = staff.post(merge, {"target": tove.id, "reason": "The same person"})
    assert str(tove.id) in answer.headers["Location"]
    assert entity("harbour", "Erik").merged_into == tove.id
    event = AuditLog.objects.across_namespaces().filter(event_type="ENTITY_MERGE").latest("id")
    assert event.actor == "staff:ann"
    assert event.details["reason"] == "The same person"
    assert staff.get(url_of(erik)).headers["Location"].startswith(url_of(tove))
    page = staff.get(url_of(tove)).content.decode()
    assert "Take the merge back" in page
    names = re.findall(r'type="hidden" name="alias" value="([^"]+)"', page)
    staff.post(reverse("ops:entity_split", args=[tove.id]), {"alias": names, "reason": "Two people"})
    assert entity("harbour", "Erik").merged_into is None


def test_candidates_are_names_of_the_same_namespace(named, staff):
    url = reverse("ops:entity_candidates", args=[entity("harbour", "Tove").id])
    assert "Erik" in staff.post(url, {"begins": "eri"}).content.decode()
    assert "Selma" not in staff.post(url, {"begins": "sel"}).content.decode()


@pytest.mark.parametrize("rows", [10, 500])
def test_the_list_asks_as_often_whatever_there_is(named, staff, django_assert_max_num_queries, rows):
    names = [f"{one}{other}son" for one in ("Ada", "Bero", "Cilo", "Dana", "Ero") for other in range(rows // 5)]
    scope = named.harbour
    for name in names:
        made = Entity.objects.create(namespace_id=scope.namespace_id, name=name, kind="person")
        alias = EntityAlias.objects.create(
            namespace_id=scope.namespace_id, key=name.lower(), name=name, kind="person", home=made.id, entity=made.id
        )
        EntityMention.objects.create(
            namespace_id=scope.namespace_id,
            memory_id=named.ids[0],
            alias=alias.id,
            start=len(name) + names.index(name) * 50 + 1,
            end=len(name) + names.index(name) * 50 + 2,
            occurred_at=NOW,
        )
    with django_assert_max_num_queries(12):
        assert staff.get(LIST, {"ns": "harbour"}).status_code == 200
    with django_assert_max_num_queries(25):
        assert staff.get(url_of(entity("harbour", "Tove")) + "?ns=harbour").status_code == 200


def listed(page: str) -> list[tuple[str, int]]:
    """Return names and mentions of the list, in its order."""
    return [
        (name, int(count))
        for name, count in re.findall(r'<bdi>([^<]+)</bdi></a></th>.*?#mentions">([0-9,]+)</a>', page, re.DOTALL)
    ]


def test_the_most_mentioned_come_first_when_asked_for_page_by_page(named, staff, monkeypatch):
    turns(named.harbour, "more", *(f"Tove saw Bergen again, day {day}." for day in range(4)), "Tove called Erik.")
    index_pending(now=NOW)
    whole = listed(staff.get(LIST, {"ns": "harbour", "order": "mentions"}).content.decode())
    newest = listed(staff.get(LIST, {"ns": "harbour"}).content.decode())
    # Speakers are mentioned by each of their turns.
    assert [name for name, _count in whole[:2]] == ["Ann", "Tove"]
    assert sorted(whole) == sorted(newest)
    assert whole != newest
    assert [count for _name, count in whole] == sorted((count for _name, count in whole), reverse=True)
    monkeypatch.setitem(page_of_entities.listing.__kwdefaults__, "limit", 1)
    seen, cursor = [], ""
    while True:
        page = staff.get(LIST, {"ns": "harbour", "order": "mentions", "cursor": cursor}).content.decode()
        seen += listed(page)
        following = re.search(r'cursor=([0-9]+_[0-9a-f-]+)" rel="next">Less mentioned', page)
        if following is None:
            break
        cursor = following[1]
    assert seen == whole


def test_the_order_goes_with_kind_and_beginning_and_a_strange_cursor_is_the_first_page(named, staff):
    places = staff.get(LIST, {"ns": "harbour", "order": "mentions", "kind": "place"}).content.decode()
    assert [name for name, _count in listed(places)] == ["Bergen"]
    found = staff.post("/ops/entities/search/?ns=harbour&order=mentions", {"begins": "to"}).content.decode()
    assert [name for name, _count in listed(found)] == ["Tove"]
    for cursor in ("x", "_", "9" * 30 + f"_{entity('harbour', 'Tove').id}", "-1_x", str(entity("harbour", "Tove").id)):
        assert listed(staff.get(LIST, {"ns": "harbour", "order": "mentions", "cursor": cursor}).content.decode())


def test_mentions_are_counted_in_an_index(named):
    asked = {
        "namespace_id": named.harbour.namespace_id,
        "begins": "",
        "kind": "",
        "below": None,
        "last": None,
        "limit": 2,
    }
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {MOST_MENTIONED}", asked)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Index Only Scan using entitymention_counted" in plan
