"""The page about decay: its numbers match SQL and the linked lists, and a trial saves nothing."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from memory.models import AuditLog, Job, Memory, MemoryUpkeep, NamespacePolicy
from memory.services.ingestion.ingest import ingest_batch
from memory.services.retention import due, forecast, strength_counts, sweep
from memory.services.tenancy.policy import governing, put_policy
from memory.types import NewMemory
from ops.pages import decay as pages
from tests.ops.conftest import HOSTILE, scope_of

URL = "/ops/decay/"
LIST = "/admin/memory/memory/"
FACT = "The kiln of the pottery in Lisbon fires at 1,240 degrees, number {}."


def remember(scope, *texts, days=0.0):
    at = timezone.now() - timedelta(days=days)
    items = [(scope, NewMemory(session="s1", role="user", text=text, speaker="Ann")) for text in texts]
    return ingest_batch(items, now=at).memory_ids


@pytest.fixture
def pottery(db):
    """Remember facts and small talk of several ages; some are weak already, and some will be within a week."""
    scope = scope_of("pottery")
    for place, days in enumerate((0, 3, 20, 60, 100, 200, 400, 900)):
        remember(scope, *(FACT.format(f"{place}-{one}") for one in range(place % 3 + 1)), days=days)
    for place, days in enumerate((1, 50, 66, 80)):
        remember(scope, f"Thanks {place}!", days=days)
    return scope


def count_on_arrival(client, link) -> int:
    response = client.get(link)
    assert response.status_code == 200, link
    return response.context["cl"].result_count


def links(page: str) -> list[tuple[str, int]]:
    """Return the links of the grid with their numbers."""
    found = re.findall(r'<td class="heat-\d"><a href="([^"]+)"[^>]*>([\d,]+)</a>', page)
    return [(link.replace("&amp;", "&"), int(number.replace(",", ""))) for link, number in found]


def test_a_large_namespaces_page_stands_before_its_numbers(staff, pottery, settings):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 3
    page = staff.get(URL, {"ns": "pottery", "floor": "0.1"}).content.decode()
    assert not links(page)
    [address] = re.findall(r'hx-get="([^"]*decay/figures/[^"]*)"', page)
    figures = staff.get(address.replace("&amp;", "&")).content.decode()
    assert sum(number for _, number in links(figures)) == Memory.objects.in_scope(pottery).active().count()
    assert "<html" not in figures
    [rest] = re.findall(r'hx-get="([^"]*decay/rest/[^"]*)"', page)
    answer = staff.get(rest.replace("&amp;", "&")).content.decode()
    assert 'name="floor"' in answer
    # Actions on memories that leave soon return to the page, not to a fragment.
    assert 'name="next" value="/ops/decay/?ns=pottery&amp;floor=0.1"' in answer


def test_a_large_namespaces_numbers_are_kept_until_they_are_asked_for_again(staff, pottery, settings):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 3
    staff.get(f"{URL}figures/", {"ns": "pottery"})
    remember(pottery, FACT.format("new"))
    page = staff.get(URL, {"ns": "pottery"}).content.decode()
    active = Memory.objects.in_scope(pottery).active().count()
    assert sum(number for _, number in links(page)) == active - 1
    assert "Count again" in page

    again = staff.get(URL, {"ns": "pottery", "again": "1"}).content.decode()
    assert not links(again)
    staff.get(f"{URL}figures/", {"ns": "pottery"})
    assert sum(number for _, number in links(staff.get(URL, {"ns": "pottery"}).content.decode())) == active


def test_every_number_of_the_grid_opens_so_many_memories(staff, pottery):
    found = links(staff.get(URL, {"ns": "pottery"}).content.decode())
    assert len(found) > 6
    assert sum(number for _, number in found) == Memory.objects.in_scope(pottery).active().count()
    for link, number in found:
        assert count_on_arrival(staff, link) == number


def test_every_total_of_the_grid_opens_so_many_memories(staff, pottery):
    page = staff.get(URL, {"ns": "pottery"}).content.decode()
    found = re.findall(r'<td class="sum"><a href="([^"]+)"[^>]*>([\d,]+)</a>', page)
    totals = [(link.replace("&amp;", "&"), int(number.replace(",", ""))) for link, number in found]
    everything = Memory.objects.in_scope(pottery).active().count()
    assert sum(number for _, number in totals) == 3 * everything  # the rows, the columns, and all
    for link, number in totals:
        assert count_on_arrival(staff, link) == number


def test_the_grid_is_that_of_the_formula_in_python(pottery):
    now, policy = timezone.now(), governing(pottery.namespace_id).effective.policy
    grid = forecast.grid(pottery, policy, now=now)
    for row, strength in enumerate(forecast.bands(grid.strengths)):
        for column, age in enumerate(forecast.bands(grid.ages)):
            rows = forecast.rows(pottery, policy, now=now, age=age, strength=strength)
            assert rows.count() == grid.counts[row][column]
    assert policy.floor in grid.strengths
    below = forecast.rows(pottery, policy, now=now, strength=(0.0, policy.floor)).count()
    assert below == due.counts(pottery.namespace_id, policy, now=now).decayed > 0


def test_tiles_open_what_they_count(staff, pottery):
    policy, now = governing(pottery.namespace_id).effective.policy, timezone.now()
    page = pages.decay(pottery, strength_counts.count(pottery, policy, now=now), is_kept=False)
    leaving = pages.leaving_soon(pottery, now=now)
    for tile in page.tiles[:3]:
        assert count_on_arrival(staff, tile.link) == int(tile.value.replace(",", ""))
    soon = due.counts(pottery.namespace_id, policy, now=now + timedelta(days=7))
    assert leaving.count == soon.decayed + soon.expired == len(leaving.listed)
    assert page.tiles[1].value == str(due.counts(pottery.namespace_id, policy, now=now).decayed)


def test_the_last_sweep_is_told_with_its_events(staff, pottery):
    now = timezone.now()
    Job.objects.create(kind="sweep_memories", schedule=forecast.SWEEP_SCHEDULE, state="running", started_at=now)
    swept = sweep.sweep(actor="worker", now=now, accept_clock=True)
    Job.objects.across_namespaces().update(state="done", finished_at=timezone.now())
    found = forecast.last_sweep(pottery)
    assert sum(found.archived.values()) == swept.namespaces["pottery"].decayed > 0
    policy = governing(pottery.namespace_id).effective.policy
    tile = pages.decay(pottery, strength_counts.count(pottery, policy, now=timezone.now()), is_kept=False).tiles[3]
    assert count_on_arrival(staff, tile.link) == int(tile.value)


def test_what_staff_does_has_the_numbers_counted_again(staff, pottery):
    policy = governing(pottery.namespace_id).effective.policy
    [memory] = remember(pottery, FACT.format("kept"))
    strength_counts.count_and_keep(pottery, policy, now=timezone.now())
    fields = {"namespace": "pottery", "memory": [str(memory)], "verb": "pin", "reason": "test"}
    assert staff.post(f"{URL}curate/", fields).status_code == 303
    assert strength_counts.read_kept(pottery, policy) is None


class TestWhatIf:
    def test_it_says_what_a_sweep_would_do_and_saves_nothing(self, staff, pottery):
        before = governing(pottery.namespace_id)
        tried = pages.what_if(pottery, {"said": "40", "floor": "0.2"}, now=timezone.now())
        assert tried.changed
        assert tried.archive > tried.before
        assert tried.share == pytest.approx(tried.archive / tried.active)
        assert count_on_arrival(staff, tried.link) == tried.archive
        page = staff.get(f"{URL}what-if/", {"ns": "pottery", "said": "40", "floor": "0.2"})
        assert f">{tried.archive}</a>" in page.content.decode()
        assert parse_qs(urlsplit(page.headers["HX-Replace-Url"]).query) == {
            "ns": ["pottery"], "said": ["40"], "floor": ["0.2"]
        }  # fmt: skip
        assert governing(pottery.namespace_id) == before
        assert not NamespacePolicy.objects.across_namespaces().exists()
        assert not AuditLog.objects.across_namespaces().filter(event_type="POLICY_CHANGE").exists()

    def test_what_is_tried_is_what_a_saved_policy_does(self, pottery):
        now = timezone.now()
        tried = pages.what_if(pottery, {"episode": "10", "ttl": "300"}, now=now)
        put_policy(pottery, wanted={"decay": {"half_life_days": {"episode": 10.0}}, "ttl_days": 300}, now=now)
        saved = due.counts(pottery.namespace_id, governing(pottery.namespace_id).effective.policy, now=now)
        assert tried.archive == saved.decayed + saved.expired

    def test_what_the_namespace_has_set_stays_in_force(self, pottery):
        put_policy(pottery, wanted={"ttl_days": 30}, now=timezone.now())
        with_it = pages.what_if(pottery, {"said": "170"}, now=timezone.now())
        assert (
            with_it.archive
            == Memory.objects.across_namespaces().filter(created_at__lt=timezone.now() - timedelta(days=30)).count()
        )

    @pytest.mark.parametrize("floor", ["nan", "inf", "x", ""])
    def test_what_is_no_number_is_left_out(self, pottery, floor):
        assert not pages.what_if(pottery, {"floor": floor}, now=timezone.now()).changed

    def test_values_that_cannot_be_saved_say_why(self, staff, pottery):
        page = staff.get(URL, {"ns": "pottery", "said": "10", "episode": "400"}).content.decode()
        assert "outlasts that of what is said" in page

    def test_the_curve_is_the_formula_of_the_sweep(self, pottery):
        drawn = pages.curve(pottery, {"said": "90"}, kind="said")
        assert [line.title for line in drawn.lines][:2] == ["never used", "used 7 times"]
        assert any(line.dashed for line in drawn.lines)
        label, values = drawn.rows[0]
        assert (label, values[:2]) == ("0 days", ["0.50", "0.80"])


class TestCuration:
    def post(self, client, **fields):
        response = client.post(f"{URL}curate/", {"namespace": "pottery", "reason": "test", **fields})
        return client.get(response["Location"] + "?ns=pottery") if response.status_code == 303 else response

    def test_pin_extend_archive(self, staff, pottery):
        [first, second, third] = remember(pottery, "Thanks a!", "Thanks b!", "Thanks c!", days=70)
        self.post(staff, verb="pin", memory=[str(first)])
        assert Memory.objects.across_namespaces().get(pk=first).pinned
        self.post(staff, verb="extend", days="30", memory=[str(second)])
        assert MemoryUpkeep.objects.across_namespaces().get(memory_id=second).expires_at > timezone.now() + timedelta(
            days=29
        )
        self.post(staff, verb="archive", memory=[str(third)])
        assert Memory.objects.across_namespaces().get(pk=third).state == "archived"
        events = AuditLog.objects.across_namespaces().filter(actor="staff:ann").values_list("event_type", flat=True)
        assert set(events) >= {"MEMORY_PIN", "POLICY_EXEMPTION", "MEMORY_ARCHIVE"}

    @pytest.mark.parametrize(
        "fields", [{"verb": "pin"}, {"verb": "burn", "memory": ["x"]}, {"verb": "extend", "days": "9999999"}]
    )
    def test_what_makes_no_sense_is_said(self, staff, pottery, fields):
        response = self.post(staff, **fields)
        assert response.status_code == 200
        assert "toast-error" in response.content.decode()

    def test_it_takes_the_permission_the_reach_and_a_post(self, world, pottery, grant_console, staff):
        clerk = grant_console("harbour")
        assert self.post(clerk, verb="pin", memory=[str(world.ids[0])]).status_code == 403
        curator = grant_console("harbour", permissions=("memory.change_memory",))
        assert self.post(curator, verb="pin").status_code == 404
        [own] = remember(pottery, "Thanks x!", days=70)
        response = curator.post(
            f"{URL}curate/", {"namespace": "harbour", "reason": "r", "verb": "pin", "memory": [str(own)]}
        )
        assert response.status_code == 303
        assert not Memory.objects.across_namespaces().get(pk=own).pinned
        assert staff.get(f"{URL}curate/").status_code == 405


def test_other_namespaces_are_out_of_reach(world, pottery, grant_console):
    client = grant_console("harbour", "bakery")
    assert client.get(URL, {"ns": "pottery"}).status_code == 404
    page = client.get(URL).content.decode()
    assert "harbour" in page
    assert "pottery" not in page
    only = grant_console("bakery", permissions=("memory.view_memory",))
    assert "Age and strength" in only.get(URL).content.decode()
    response = only.get(LIST, {"namespace": "pottery", "picked": f"fading:at={timezone.now().isoformat()};due=1"})
    assert response.context["cl"].result_count == 0


def test_texts_are_masked_and_harmless(staff, grant_console, pottery):
    remember(pottery, f"Thanks! {HOSTILE}", days=500)
    page = staff.get(URL, {"ns": "pottery", "floor": "0.4", "said": "30"}).content.decode()
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page
    clerk = grant_console("pottery")
    masked = clerk.get(URL, {"ns": "pottery"}).content.decode()
    assert "•••" in masked
    assert "Thanks" not in masked
    assert 'name="verb"' not in masked


@pytest.mark.parametrize(
    "value",
    ["", "x", "fading:", "fading:at=yesterday", "fading:at=2026-01-01", "cluster:", "cluster:99999999999",
     "selection:none", "fading:at=2026-01-01T00:00:00+00:00;age=a..b",
     "fading:at=2026-01-01T00:00:00+00:00;age=nan..1"],
)  # fmt: skip
def test_a_damaged_address_lists_nothing_and_says_so(staff, pottery, value):
    response = staff.get(LIST, {"namespace": "pottery", "picked": value})
    assert response.status_code == 200
    assert response.context["cl"].result_count == (0 if value else Memory.objects.across_namespaces().count())


def test_an_empty_namespace_and_no_namespace(staff, db):
    assert "No namespace yet" in staff.get(URL).content.decode()
    scope_of("new")
    assert "No active memories here" in staff.get(URL, {"ns": "new"}).content.decode()


def test_the_page_costs_a_bounded_number_of_queries(staff, pottery, django_assert_max_num_queries):
    with django_assert_max_num_queries(30):
        staff.get(URL, {"ns": "pottery"})
