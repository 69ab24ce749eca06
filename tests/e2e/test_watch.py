"""Pipeline, Sessions, Audit and the namespaces' page as people see them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory import audit
from memory.models import Job, Memory
from memory.services.summaries.condense import condense_session
from tests.e2e.conftest import check, check_looks
from tests.ops.conftest import HOSTILE, NOW, turns

SESSION = "?ns=harbour&session=night+shift"


@pytest.fixture
def busy(world):
    """Add a failed and a silent job, a chain of two summaries, and events of now."""
    now = timezone.now()
    own = world.harbour.namespace_id
    Job.objects.create(
        namespace_id=own, kind="condense_session", arguments=[own, HOSTILE], state="failed", attempts=3,
        error_type="LLMUnavailable", error=f"It does not answer. {HOSTILE}", finished_at=now, started_at=now,
    )  # fmt: skip
    then = now - timedelta(seconds=90)
    Job.objects.create(kind="embed_pending", state="running", started_at=then, heartbeat_at=then, done=3, total=8)
    turns(world.harbour, "night shift", *(f"We decided to paint gate {n} blue." for n in range(30)))
    condense_session(world.harbour, session="night shift", now=NOW + timedelta(hours=1))
    audit.record(
        world.harbour, "MEMORY_EDIT", session="night shift", subject=str(world.ids[0]),
        details={"before": {"importance": 0.5}, "after": {"importance": 0.9}, "reason": HOSTILE}, now=now,
    )  # fmt: skip
    return world


PAGES = {
    "pipeline": "/ops/pipeline/",
    "pipeline-rows": "/ops/pipeline/rows/?stage=linked",
    "condensations": "/ops/condensations/",
    "condensations-chain": f"/ops/condensations/{SESSION}",
    "sessions": "/ops/sessions/",
    "session": f"/ops/sessions/one/{SESSION}",
    "session-reset": f"/ops/sessions/reset/{SESSION}",
    "audit": "/ops/audit/?window=all&group=request",
    "audit-requests": "/ops/audit/requests/",
    "namespaces": "/ops/ns/",
    "namespace": "/ops/ns/?ns=harbour",
}


def test_pages_with_data(open_page, root, busy):
    page = open_page("/ops/", client=root)
    problems = []
    for name, path in PAGES.items():
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        try:
            check_looks(page, name)
        except AssertionError as error:
            problems.append(f"{name}: {error}")
    assert not problems, "\n".join(problems)


def test_pages_of_an_empty_server(open_page, root):
    page = open_page("/ops/", client=root)
    for name in ("pipeline", "condensations", "sessions", "audit", "namespaces"):
        page.goto(PAGES[name])
        check_looks(page, f"{name}-empty")


def test_pages_for_those_who_may_read_no_text(open_page, grant_console, busy):
    client = grant_console("harbour")
    page = open_page(f"/ops/sessions/one/{SESSION}", client=client)
    expect(page.get_by_text("•••").first).to_be_visible()
    check(page, "session-masked")
    page.goto(f"/ops/condensations/{SESSION}")
    expect(page.get_by_text("northern gate")).to_have_count(0)


def test_another_tenants_pages_are_not_found(open_page, grant_console, busy, watched):
    watched.expected.append("404")
    client = grant_console("bakery")
    page = open_page("/ops/ns/?ns=harbour", client=client)
    for path in (f"/ops/sessions/one/{SESSION}", f"/ops/condensations/{SESSION}", "/ops/audit/?ns=harbour"):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 404


def test_a_failed_job_is_looked_at_and_replayed(open_page, root, busy):
    page = open_page("/ops/pipeline/?state=failed", client=root)
    page.get_by_role("link", name="condense_session").click()
    drawer = page.locator("#drawer")
    expect(drawer).to_be_visible()
    expect(drawer.get_by_text("LLMUnavailable")).to_be_visible()
    page.keyboard.press("Escape")
    replay = page.locator("#jobs").get_by_role("button", name="Replay")
    expect(replay).to_be_disabled()
    page.get_by_role("checkbox", name=re.compile("Choose condense_session <")).check()
    expect(page.get_by_text("1 chosen")).to_be_visible()
    replay.click()
    expect(page.get_by_text("1 job is queued again.")).to_be_visible()
    job = Job.objects.across_namespaces().get(error_type="LLMUnavailable")
    assert job.state == "queued"
    page.goto(f"/ops/pipeline/job/?id={job.pk}")
    check(page, "pipeline-job")


def test_what_was_chosen_stays_while_the_list_renews_itself(open_page, root, busy):
    page = open_page("/ops/pipeline/", client=root)
    box = page.get_by_role("checkbox", name=re.compile("Choose condense_session <"))
    box.check()
    page.get_by_role("heading", level=1).click()
    with page.expect_response(lambda answer: "/pipeline/live/" in answer.url and answer.status == 200, timeout=15000):
        Job.objects.across_namespaces().filter(kind="embed_pending").update(done=4)
    expect(page.get_by_text("4/8")).to_be_visible()
    expect(box).to_be_checked()
    expect(page.get_by_text("1 chosen")).to_be_visible()


def test_what_changed_while_one_typed_comes_when_one_has_done(open_page, root, busy):
    page = open_page("/ops/pipeline/", client=root)
    reason = page.get_by_label("Reason, for discarding")
    reason.fill("They were asked for twice.")
    with page.expect_response(lambda answer: "/pipeline/live/" in answer.url and answer.status == 200, timeout=15000):
        Job.objects.across_namespaces().filter(kind="embed_pending").update(done=5)
    expect(page.get_by_text("3/8")).to_be_visible()
    page.get_by_role("heading", level=1).click()
    expect(page.get_by_text("5/8")).to_be_visible(timeout=8000)
    expect(reason).to_have_value("They were asked for twice.")


def test_a_dead_worker_is_named(open_page, root, busy):
    page = open_page("/ops/pipeline/", client=root)
    expect(page.get_by_text(re.compile(r"no heartbeat \d+ s"))).to_be_visible()


def test_a_reset_needs_the_sessions_name(open_page, root, busy, watched):
    watched.expected.append("422")
    page = open_page(f"/ops/sessions/one/{SESSION}", client=root)
    page.get_by_role("link", name="Reset…").click()
    expect(page.get_by_text("Nothing has been deleted yet.")).to_be_visible()
    field = page.get_by_label("Type the session's name to confirm")
    field.fill("day shift")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("exactly as it is written")
    check(page, "session-reset-refused")
    assert Memory.objects.across_namespaces().filter(session="night shift").exists()
    field.fill("night shift")
    page.get_by_role("button", name="Reset this session").click()
    expect(page.get_by_role("heading", name="The session was reset")).to_be_visible()
    check(page, "session-receipt")
    assert not Memory.objects.across_namespaces().filter(session="night shift").exists()


def test_an_event_is_looked_at_by_keyboard(open_page, root, busy):
    page = open_page("/ops/audit/", client=root)
    page.get_by_role("link", name="MEMORY_EDIT").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#drawer").get_by_text("Before and after")).to_be_visible()
    check(page, "audit-event")


def test_a_column_of_the_picture_narrows_the_list(open_page, root, busy):
    page = open_page("/ops/audit/?window=24h", client=root)
    page.locator(".column-link").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("from="))
    expect(page.get_by_text("MEMORY_EDIT", exact=True).last).to_be_visible()
    expect(page.locator(".chips").get_by_text("From:")).to_be_visible()


def test_new_events_are_offered_and_push_nothing(open_page, root, busy):
    page = open_page("/ops/audit/?window=all", client=root, clock=True)
    rows = page.locator(".events tbody tr").count()
    audit.record(busy.harbour, "MEMORY_PIN", now=timezone.now())
    page.clock.run_for(5000)
    offer = page.get_by_role("link", name="1 new")
    expect(offer).to_be_visible(timeout=9000)
    assert page.locator(".events tbody tr").count() == rows
    offer.click()
    expect(page.get_by_role("link", name="MEMORY_PIN")).to_be_visible()


def test_the_list_of_events_is_saved_as_a_file(open_page, root, busy):
    page = open_page("/ops/audit/?window=all", client=root)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    assert re.fullmatch(r"audit-\d{8}-\d{6}\.csv", download.value.suggested_filename)
