from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memory.enums import JobPriority
from memory.models import AuditLog, Condensation, Entity, Job, Memory, Session
from memory.services.ingestion.quarantine import QuarantinedItem
from memory.services.jobs.queue import CONDENSE, enqueue
from memory.services.jobs.waiting import queue_status
from memory.services.summaries.condense import condense_session
from memory.types import system_access
from ops.pages.condensations import CardTokens, word_changes
from tests.ops.conftest import HOSTILE, NOW, turns
from tests.vectorless import take_vectors

URL = "/ops/pipeline/"
COLUMN = r'<h3 class="stage-title">.*?</svg>([^<]+)</h3>\s*<p class="stage-value">(?:<a href="([^"]*)">)?([^<]+)<'


def columns(client: Client, **query: str) -> dict[str, tuple[str, str]]:
    """Return the link and the number of each column by its title."""
    page = client.get(URL, query).content.decode()
    return {title: (link.replace("&amp;", "&"), value) for title, link, value in re.findall(COLUMN, page, re.S)}


def failed_job(scope, *, session: str = "night shift", error: str = "It does not answer.") -> Job:
    now = timezone.now()
    return Job.objects.create(
        namespace_id=scope.namespace_id, kind="condense_session", arguments=[scope.namespace_id, session],
        once=True, state="failed", attempts=3, error_type="LLMUnavailable", error=error,
        started_at=now - timedelta(minutes=5), finished_at=now,
    )  # fmt: skip


def quarantined(scope) -> QuarantinedItem:
    return QuarantinedItem.objects.create(
        namespace_id=scope.namespace_id, session="night shift", role="user", text=HOSTILE, characters=len(HOSTILE),
        occurred_at=NOW, rule="injection.instructions", confidence=0.9, content_hash=b"0" * 32,
    )  # fmt: skip


def test_it_needs_the_console_and_its_namespaces(world, grant_console, db, django_user_model):
    outsider = Client()
    outsider.force_login(django_user_model.objects.create_user("plain", is_staff=True))
    job = failed_job(world.harbour)
    baker = grant_console("bakery")
    for path in ("", "live/", f"job/?id={job.pk}", "rows/?stage=linked"):
        assert outsider.get(URL + path).status_code == 403
    assert baker.get(URL, {"ns": "harbour"}).status_code == 404
    assert baker.get(f"{URL}job/", {"id": job.pk}).status_code == 404
    assert str(job.pk) not in baker.get(URL, {"state": "all"}).content.decode()
    assert "night shift" not in baker.get("/ops/condensations/").content.decode()
    assert baker.get("/ops/condensations/", {"ns": "harbour", "session": "night shift"}).status_code == 404


def test_columns_count_rows_and_lead_to_as_many(world, staff):
    turns(world.harbour, "day shift", "The pilot boat is painted green.", "The tide turns at four.")
    quarantined(world.harbour)
    take_vectors(world.ids[0])
    failed_job(world.harbour)
    shown = columns(staff)
    memories = Memory.objects.across_namespaces().count()
    waiting = Session.objects.across_namespaces().filter(summarised_turn=0).count()
    assert shown["Accepted"][1] == str(memories + 1)
    assert shown["Screened"][1] == "1"
    assert shown["Embedded"][1] == "1"
    assert shown["Condensed"][1] == str(waiting) == "2"
    assert shown["Linked"][1] == str(Session.objects.across_namespaces().count())
    assert shown["Stored"] == ("/admin/memory/memory/", str(memories))
    assert shown["Failed"][1] == str(Job.objects.across_namespaces().failed().count())
    for title in ("Accepted", "Screened", "Embedded", "Condensed", "Linked"):
        link, value = shown[title]
        page = staff.get(link).content.decode()
        assert f"{value} row" in page, title
        assert page.count('<tr><td data-label="What"') == int(value), title
    assert staff.get(shown["Failed"][0]).content.decode().count('<tr id="job-') == 1


def test_jobs_that_failed_within_the_hour_are_listed(world, staff, grant_console):
    jobs = [failed_job(world.harbour) for _ in range(3)]
    Job.objects.across_namespaces().filter(pk=jobs[0].pk).update(finished_at=timezone.now() - timedelta(hours=2))
    page = staff.get(URL).content.decode()
    link = re.search(r'<a href="([^"]*stage=failed[^"]*)">2 in the last hour</a>', page)[1].replace("&amp;", "&")
    listed = staff.get(link).content.decode()
    assert "2 rows" in listed
    for job in jobs[1:]:
        assert f"/ops/pipeline/job/?id={job.pk}&amp;ns=harbour" in listed
    assert str(jobs[0].pk) not in listed
    assert "Nothing is here" in grant_console("bakery").get(link).content.decode()


def test_columns_of_a_namespace_count_only_it(world, staff, grant_console):
    assert columns(staff, ns="bakery")["Accepted"][1] == "1"
    assert columns(grant_console("bakery"))["Stored"][1] == "1"


def test_a_job_is_shown_closely_with_what_it_made(world, staff):
    now = timezone.now()
    job = Job.objects.create(
        namespace_id=world.harbour.namespace_id, kind="condense_session",
        arguments=[world.harbour.namespace_id, "night shift"], state="done", attempts=1,
        started_at=NOW - timedelta(minutes=1), finished_at=NOW + timedelta(minutes=1), queued_at=now,
    )  # fmt: skip
    page = staff.get(f"{URL}job/", {"id": job.pk}).content.decode()
    part = staff.get(f"{URL}job/", {"id": job.pk}, headers={"HX-Request": "true"}).content.decode()
    assert "Summary #1 of “night shift”" in page
    assert "<html" in page
    assert "<html" not in part
    assert staff.get(f"{URL}job/", {"id": "nonsense"}).status_code == 404


def test_it_says_who_waits_and_how_many_turns(world, staff, grant_console):
    Job.objects.across_namespaces().delete()
    bakery = Memory.objects.across_namespaces().get(pk=world.elsewhere).namespace_id
    for namespace_id, count in ((world.harbour.namespace_id, 3), (bakery, 1)):
        for number in range(count):
            enqueue(CONDENSE, namespace_id, f"s{number}")

    def waiting(client: Client) -> dict[str, str]:
        rows = re.findall(r"<tr><td data-label=.*?</tr>", client.get(URL).content.decode(), re.S)
        texts = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
        return {words[0]: " ".join(words[1:]) for words in texts}

    shown = waiting(staff)
    assert shown["Normal"].startswith("Short jobs: summaries, settling, vectors 4 0 ")
    assert (shown["harbour"][:3], shown["bakery"][:3]) == ("3 0", "1 0")
    turns = queue_status(system_access("tests")).turns
    assert f"{turns} new turn" in staff.get(URL).content.decode()
    baker = waiting(grant_console("bakery"))
    assert baker["Normal"].startswith("Short jobs: summaries, settling, vectors 1 0 ")
    assert "harbour" not in baker
    bulk = Job.objects.across_namespaces().filter(namespace_id=bakery)
    bulk.update(priority=JobPriority.BULK)
    narrowed = staff.get(URL, {"priority": "bulk"}).content.decode()
    assert f'id="job-{bulk.get().pk}"' in narrowed
    assert narrowed.count('<tr id="job-') == 1


def test_a_silent_worker_is_named(world, staff):
    then = timezone.now() - timedelta(seconds=90)
    Job.objects.create(kind="embed_pending", state="running", started_at=then, heartbeat_at=then, done=1, total=4)
    page = staff.get(URL).content.decode()
    assert re.search(r"no heartbeat 9\d s", page)
    assert "1/4" in page


def test_failed_jobs_are_replayed_and_discarded_with_a_record(world, staff):
    first, second = failed_job(world.harbour), failed_job(world.harbour, session="other")
    answer = staff.post(f"{URL}jobs/operate/", {"operation": "replay", "job": [first.pk, second.pk], "next": URL})
    assert (answer.status_code, answer["Location"]) == (303, URL)
    assert "2 jobs are queued again." in staff.get(URL).content.decode()
    assert set(Job.objects.across_namespaces().values_list("state", flat=True)) == {"queued"}
    body = {"operation": "discard", "job": [first.pk], "reason": "obsolete"}
    staff.post(f"{URL}jobs/operate/", body)
    assert Job.objects.across_namespaces().get(pk=first.pk).state == "discarded"
    assert (
        AuditLog.objects.across_namespaces().get(event_type="JOB_DISCARD", subject=str(first.pk)).actor == "staff:ann"
    )


def test_discarding_needs_a_reason_and_operating_a_permission(world, staff, grant_console):
    job = failed_job(world.harbour)
    staff.post(f"{URL}jobs/operate/", {"operation": "discard", "job": [job.pk]})
    assert "Say why" in staff.get(URL).content.decode()
    reader = grant_console("harbour")
    assert reader.post(f"{URL}jobs/operate/", {"operation": "replay", "job": [job.pk]}).status_code == 403
    assert "data-choose-all" not in reader.get(URL).content.decode()
    baker = grant_console("bakery", permissions=("ops.operate_jobs",))
    baker.post(f"{URL}jobs/operate/", {"operation": "replay", "job": [job.pk]})
    assert staff.get(f"{URL}jobs/operate/").status_code == 405
    assert Client(enforce_csrf_checks=True).post(f"{URL}jobs/operate/").status_code == 403
    assert Job.objects.across_namespaces().get(pk=job.pk).state == "failed"


def test_hostile_words_stay_words(world, staff):
    job = failed_job(world.harbour, session=HOSTILE[:128], error=HOSTILE)
    for path in (URL, f"{URL}job/?id={job.pk}"):
        page = staff.get(path).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


PART = re.compile(r'hx-swap-oob="innerHTML:#(\w+)"')


def test_one_request_brings_the_parts_that_changed(world, staff, clear_shared):
    both = staff.get(f"{URL}live/")
    assert PART.findall(both.content.decode()) == ["stages", "waiting", "jobs"]
    shown = both.headers["X-Fragment-Version"]
    again = staff.get(f"{URL}live/", {"v": shown})
    assert (again.status_code, again.content, again.headers["X-Fragment-Version"]) == (204, b"", shown)
    Job.objects.create(kind="embed_pending", namespace_id=world.harbour.namespace_id, state="done")
    clear_shared()
    changed = staff.get(f"{URL}live/", {"v": shown})
    assert PART.findall(changed.content.decode()) == ["jobs"]
    assert "embed_pending" not in changed.content.decode()
    assert staff.get(f"{URL}live/", {"v": "nonsense"}).status_code == 200


def test_a_page_that_is_opened_shows_what_is_there_now_and_the_tabs_get_it_too(world, staff):
    staff.get(f"{URL}live/")
    failed_job(world.harbour)
    assert "LLMUnavailable" not in staff.get(f"{URL}live/").content.decode()
    assert "LLMUnavailable" in staff.get(URL).content.decode()
    assert "LLMUnavailable" in staff.get(f"{URL}live/").content.decode()


@pytest.mark.parametrize("count", [10, 500])
def test_the_page_costs_as_many_queries_for_many_jobs(world, staff, django_assert_max_num_queries, count):
    for number in range(count):
        failed_job(world.harbour, session=f"s{number}")
    staff.get(URL)
    with django_assert_max_num_queries(28):
        staff.get(URL, {"state": "all"})


def test_a_chain_of_summaries_says_what_changed_and_where_it_comes_from(world, staff):
    turns(world.harbour, "night shift", *(f"We decided to paint gate {n} blue." for n in range(40)))
    condense_session(world.harbour, session="night shift", now=NOW + timedelta(hours=1))
    versions = Condensation.objects.across_namespaces().filter(session="night shift").count()
    assert versions >= 2
    page = staff.get("/ops/condensations/", {"ns": "harbour", "session": "night shift"}).content.decode()
    assert page.count('<article class="card version"') == versions
    assert "<ins>" in page
    assert f"/admin/memory/memory/{world.ids[2]}/change/" in page
    assert AuditLog.objects.across_namespaces().filter(event_type="SESSION_VIEW", session="night shift").count() == 1
    listed = staff.get("/ops/condensations/").content.decode()
    assert listed.count('<tr><td data-label="Session"') == Condensation.objects.across_namespaces().count()


def test_summaries_are_masked_without_the_permission(world, grant_console):
    reader = grant_console("harbour")
    page = reader.get("/ops/condensations/", {"ns": "harbour", "session": "night shift"}).content.decode()
    assert "northern gate" not in page
    assert "•••" in page
    assert "<ins>" not in page
    assert not AuditLog.objects.across_namespaces().filter(event_type="SESSION_VIEW").exists()


def test_a_share_of_nothing_is_no_division():
    assert CardTokens(0, 0).share is None
    assert CardTokens(10, 15).share == 1.5


def test_changes_are_by_word_and_by_character_in_chinese():
    assert [(one.kind, one.text) for one in word_changes("the red gate", "the blue gate")] == [
        ("same", "the "),
        ("removed", "red "),
        ("added", "blue "),
        ("same", "gate"),
    ]
    assert [one.text for one in word_changes("我住在北京", "我住在上海") if one.kind == "added"] == ["上海"]


def test_nothing_waits_on_an_empty_server(staff):
    page = staff.get(URL).content.decode()
    assert "Nothing is queued, running or failed" in page
    assert not Entity.objects.across_namespaces().exists()
