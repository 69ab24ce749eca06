"""The radar: a dry run with one audit event, limited to what staff reach, and with the services' numbers."""

from __future__ import annotations

import re
import uuid

import pytest
import redis
from django.urls import reverse
from django.utils import timezone

from memory import audit
from memory.models import AuditLog, RelevanceJudgement
from memory.services.recall import probe as probing
from memory.services.recall.probe import ProbeSetting
from memory.services.recall.search import Ask, find
from memory.services.recall.why import why
from memory.stores import redis as redis_store
from memory.types import system_access
from ops.pages.candidates import candidates
from ops.pages.polar import INNER, MAX_SECTORS, RADIUS, RINGS, Point, jitter, polar, radius, top_of
from tests.ops.conftest import NOW, scope_of, turns
from tests.ops.tables import row_counts

URL = "/ops/radar/"
QUESTION = "When does the harbour pilot board?"


def ask(client, text=QUESTION, namespace="harbour", **fields):
    return client.post(
        f"{URL}ask/", {"text": text, "namespace": namespace, "a-top_k": 2, "b-top_k": 3, "show_dropped": "on", **fields}
    )


def look(client, **fields):
    return client.get(ask(client, **fields).headers["Location"])


@pytest.fixture
def prober(world, grant_console):
    return grant_console("harbour", permissions=("ops.run_probe",))


class TestRelevance:
    def test_each_hit_has_its_relevance(self, staff, world):
        (hit, *_) = find(scope_of("harbour"), Ask(QUESTION, 2, timezone.now(), dry_run=True)).hits

        page = look(staff).content.decode()

        assert f"relevance {hit.relevance:.2f}" in page
        assert "Nothing in memory answers this" not in page

    def test_it_says_when_nothing_fits(self, staff, world):
        assert "Nothing in memory answers this" in look(staff, text="Xylophone quartet?").content.decode()


class TestDryRun:
    def test_nothing_is_stored_but_one_audit_event_without_the_text(self, staff, world):
        before = row_counts()
        page = look(staff)
        after = row_counts()

        assert page.status_code == 200
        assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {
            "memory_auditlog": 1
        }
        event = AuditLog.objects.across_namespaces().get(event_type="CONSOLE_PROBE")
        assert (event.actor, event.namespace) == ("staff:ann", "harbour")
        assert event.subject == audit.hash_words(world.harbour, "question", QUESTION)
        assert event.details["answers"][0]["hits"] == 2
        assert "pilot" not in str(event.details)

    def test_the_question_is_in_no_address(self, staff, world):
        answer = ask(staff)
        assert answer.status_code == 303
        assert re.fullmatch(rf"/ops/radar/p/{world.harbour.namespace_id}-[0-9a-f]{{32}}/", answer.headers["Location"])

    def test_why_not_is_in_the_event_and_costs_no_row_more(self, staff, world):
        page = ask(staff).headers["Location"]
        before = row_counts()
        staff.get(page, {"why": str(world.ids[1])})
        assert row_counts()["memory_auditlog"] == before["memory_auditlog"] + 1
        assert AuditLog.objects.across_namespaces().get(event_type="CONSOLE_PROBE").details["why"] == str(world.ids[1])

    def test_asking_needs_a_post_and_looking_a_get(self, staff, world):
        assert staff.get(f"{URL}ask/").status_code == 405
        assert staff.post(URL).status_code == 405


class TestNumbers:
    def test_they_are_the_services_own(self, staff, world):
        page = look(staff).context["radar"].answers[0]
        found = find(world.harbour, Ask(QUESTION, 2, timezone.now(), dry_run=True, show_dropped=True))

        assert [blip.candidate.id for blip in page.blips if blip.candidate.returned] == [hit.id for hit in found.hits]
        assert page.considered == found.retrieval.considered
        for blip, hit in zip(page.blips, found.hits, strict=False):
            assert blip.candidate.score == pytest.approx(hit.score, abs=1e-6)
            assert blip.candidate.dense.raw == pytest.approx(hit.similarity, abs=1e-6)
            assert blip.candidate.source.tokens == hit.tokens
        dropped = {uuid.UUID(one["id"]): one for one in found.dropped}
        assert {blip.candidate.id for blip in page.blips if not blip.candidate.returned} == set(dropped)

    def test_the_parts_sum_to_the_score_that_is_shown(self, staff, world):
        answer = look(staff)
        rows = [blip.candidate for blip in answer.context["radar"].answers[0].blips]
        assert rows
        for row in rows:
            assert sum(part.share for part in row.parts) == pytest.approx(row.score, abs=1e-9)
            assert f"<strong>{row.score:.4f}</strong>" in answer.content.decode()

    def test_places_before_and_after_the_signals(self, world):
        probe = probing.keep(world.harbour, text=QUESTION, settings=[ProbeSetting(top_k=2)], now=NOW)
        rows = candidates(probing.look(probe, probe.settings[0], now=NOW), {})
        assert [row.place for row in rows] == list(range(1, len(rows) + 1))
        assert sorted(row.place_raw for row in rows) == [row.place for row in rows]
        by_raw = sorted(rows, key=lambda row: row.place_raw)
        assert [row.raw for row in by_raw] == sorted((row.raw for row in rows), reverse=True)

    def test_two_settings_beside_each_other(self, staff, world):
        answer = look(staff, compare="on", **{"b-filter": '{"speaker": "Nobody"}'})
        first, second = answer.context["radar"].answers
        assert (first.hits, second.hits) == (2, 0)
        assert {one.kind for one in answer.context["radar"].moved} == {"went"}
        assert "Nothing was found" in answer.content.decode()

    def test_every_filter_of_the_form_is_asked(self, staff, world):
        fields = {
            "a-session": "night shift", "a-role": "user", "a-speaker": "Ann", "a-tier": "L2",
            "a-since": "2026-05-08T00:00:00", "a-until": "2026-05-09T00:00:00",
            "a-filter": '{"metadata.deck": {"exists": false}}',
            "a-as_of": "2026-05-08T13:00:00", "a-valid_at": "2026-05-08T12:30:00",
        }  # fmt: skip
        answer = look(staff, **fields)
        setting = answer.context["probe"].settings[0]
        assert setting.as_filter() == {
            "session_id": "night shift",
            "role": "user",
            "speaker": "Ann",
            "tier": "L2",
            "occurred_at": {"gte": "2026-05-08T00:00:00+00:00", "lt": "2026-05-09T00:00:00+00:00"},
            "and": [{"metadata.deck": {"exists": False}}],
        }
        assert answer.context["radar"].answers[0].hits == 2
        asked = setting.ask("x", now=NOW)
        assert (asked.as_of.hour, asked.valid_at.minute, asked.dry_run) == (13, 30, True)
        assert "&quot;as_of&quot;: &quot;2026-05-08T13:00:00+00:00&quot;" in answer.content.decode()
        form = answer.content.decode()
        assert 'value="2026-05-08T13:00:00"' in form

    def test_what_did_not_come_back_is_left_out_on_request(self, staff, world):
        answer = look(staff, show_dropped="")
        assert all(blip.candidate.returned for blip in answer.context["radar"].answers[0].blips)

    def test_why_not_says_what_the_service_says(self, staff, world):
        page = staff.get(ask(staff).headers["Location"], {"why": str(world.ids[1])})
        diagnosis = why(world.harbour, Ask(QUESTION, 2, timezone.now()), memory_id=world.ids[1])
        assert page.context["whys"][0].diagnosis.reason == diagnosis.reason
        assert diagnosis.reason in page.content.decode()

    def test_why_not_of_no_id_and_of_anothers_memory(self, staff, world):
        page = ask(staff).headers["Location"]
        assert "This is not a memory" in staff.get(page, {"why": "42"}).content.decode()
        assert "no such memory" in staff.get(page, {"why": str(world.elsewhere)}).content.decode()


class TestMarks:
    def mark(self, client, page, memory_id, relevant="1"):
        return client.post(f"{page}mark/", {"memory_id": str(memory_id), "relevant": relevant, "next": page})

    def test_a_mark_grows_the_evaluation_set_and_is_shown(self, staff, world):
        page = ask(staff).headers["Location"]
        assert self.mark(staff, page, world.ids[0]).headers["Location"] == page
        judgement = RelevanceJudgement.objects.across_namespaces().get()
        assert (judgement.memory_id, judgement.relevant, judgement.query_text) == (world.ids[0], True, QUESTION)
        assert judgement.actor == "staff:ann"
        assert "marked relevant" in staff.get(page).content.decode()
        self.mark(staff, page, world.ids[0], relevant="0")
        assert RelevanceJudgement.objects.across_namespaces().get().relevant is False

    def test_not_by_get_not_without_permission_not_of_another_namespace(self, staff, prober, world):
        page = ask(staff).headers["Location"]
        assert staff.get(f"{page}mark/").status_code == 405
        assert self.mark(prober, page, world.ids[0]).status_code == 403
        assert self.mark(staff, page, world.elsewhere).status_code == 404
        assert self.mark(staff, page, "nonsense").status_code == 404
        assert not RelevanceJudgement.objects.across_namespaces().exists()


class TestReach:
    def test_the_permission_is_asked_for(self, world, grant_console):
        client = grant_console("harbour")
        assert client.get(URL).status_code == 403
        assert ask(client).status_code == 403
        assert "/ops/radar/" not in client.get("/ops/").content.decode()

    def test_a_namespace_out_of_reach_is_as_if_it_were_not(self, staff, prober, world):
        assert ask(prober, namespace="bakery").status_code == 404
        assert ask(prober, namespace="nowhere").status_code == 404
        others = ask(staff, namespace="bakery").headers["Location"]
        assert prober.get(others).status_code == 404
        assert prober.get(URL, {"ns": "bakery"}).status_code == 404
        assert "bakery" not in prober.get(URL).content.decode()

    def test_an_expired_or_made_up_question(self, staff, world):
        for name in ("1-abc", "x", "99999999999999999999-1", f"{world.harbour.namespace_id}-{uuid.uuid4().hex}"):
            assert staff.get(f"{URL}p/{name}/").status_code == 404

    def test_texts_are_masked_but_for_ones_own_question(self, staff, prober, world):
        own = look(prober).content.decode()
        assert QUESTION in own
        assert "boards at buoy seven" not in own
        assert "44 characters" in own
        theirs = prober.get(ask(staff).headers["Location"]).content.decode()
        assert QUESTION not in theirs
        assert "boards at buoy seven" not in theirs

    def test_hostile_text_stays_text(self, staff, world):
        page = look(staff, text="<script>alert(1)</script> harbour memory alert").content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "&lt;script&gt;alert(&quot;memory&quot;)" in page
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", page)
        assert " style=" not in page


class TestMistakes:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"text": ""}, "required"),
            ({"a-top_k": 51}, "less than or equal to 50"),
            ({"a-filter": "{"}, "not JSON"),
            ({"a-filter": '{"mood": 1}'}, "mood"),
            ({"compare": "on", "b-top_k": 0}, "greater than or equal to 1"),
        ],
    )
    def test_the_form_comes_back_with_what_is_wrong(self, staff, world, fields, said):
        answer = ask(staff, **fields)
        assert answer.status_code == 422
        assert said in answer.content.decode()

    def test_a_second_setting_that_is_not_compared_is_not_checked(self, staff, world):
        assert ask(staff, **{"b-top_k": 0}).status_code == 303

    def test_redis_away_is_said_and_the_form_is_kept(self, staff, world, monkeypatch):
        page = ask(staff).headers["Location"]

        def away(name):
            raise redis.ConnectionError("away")

        monkeypatch.setattr(redis_store, "get_redis_connection", away)
        answer = ask(staff)
        assert answer.status_code == 503
        assert "Redis, which keeps the question, does not answer" in answer.content.decode()
        assert QUESTION in answer.content.decode()
        redis_store.resume()
        assert staff.get(page).status_code == 503
        redis_store.resume()

    def test_an_empty_namespace(self, staff, world):
        scope_of("empty")
        assert "Nothing was found" in look(staff, namespace="empty").content.decode()


def test_the_page_costs_a_bounded_number_of_queries(staff, world, django_assert_max_num_queries):
    page = ask(staff).headers["Location"]
    staff.get(page)
    with django_assert_max_num_queries(16):
        staff.get(page)
    turns(world.harbour, "night shift", *[f"The harbour pilot boards boat {number}." for number in range(40)])
    with django_assert_max_num_queries(16):
        staff.get(page)


def test_a_kept_question_is_of_its_namespace(world):
    probe = probing.keep(
        world.harbour, text="x", settings=[ProbeSetting(as_of=NOW), ProbeSetting(filter={"role": "user"})], now=NOW
    )
    kept = probing.get_probe(system_access("someone"), probe.id)
    assert (kept.settings, kept.asked_by, kept.scope.actor) == (probe.settings, "key:test", "someone")
    assert probing.get_probe(system_access("x"), probe.id.replace(f"{world.harbour.namespace_id}-", "0-")) is None


class TestPlot:
    def test_rings_and_dots_have_one_scale(self):
        top = top_of([0.9, 0.2])
        point = Point(uuid.uuid4(), top / 2, top / 2, "a")
        drawn = polar([point], top=top, others="others")
        ring = next(ring for ring in drawn.rings if float(ring.r) == round(radius(top / 2, top), 1))
        (dot,) = drawn.dots
        assert (float(dot.x) ** 2 + float(dot.y) ** 2) ** 0.5 == pytest.approx(float(ring.r), abs=0.2)
        assert len(drawn.rings) == RINGS
        assert not dot.arrow

    def test_the_best_is_in_the_middle_and_nothing_is_outside(self):
        assert radius(2.0, 1.0) == INNER
        assert radius(-0.5, 1.0) == radius(0.0, 1.0) == RADIUS
        assert INNER < radius(0.7, 1.0) < radius(0.3, 1.0) < RADIUS

    def test_a_memory_stands_at_the_same_angle_of_its_sector_each_time(self):
        identity = uuid.uuid4()
        assert jitter(identity) == jitter(uuid.UUID(str(identity)))
        assert 0 <= jitter(identity) < 1

    def test_many_sources_share_a_sector(self):
        points = [Point(uuid.uuid4(), 0.5, 0.1, f"s{number:02}") for number in range(20)]
        drawn = polar(points, top=1.0, others="Others")
        assert len(drawn.sectors) == MAX_SECTORS
        assert (drawn.sectors[-1].name, drawn.sectors[-1].count) == ("Others", 20 - MAX_SECTORS + 1)
        assert all(dot.arrow for dot in drawn.dots)

    def test_sectors_by_kind_and_role(self, staff, world):
        page = ask(staff).headers["Location"]
        assert "Said by users" in staff.get(page, {"by": "role"}).content.decode()
        assert staff.get(page, {"by": "nonsense"}).context["by"] == "session"


def test_the_form_takes_the_chosen_namespace(staff, world):
    assert '<option value="harbour" selected>' in staff.get(URL, {"ns": "harbour"}).content.decode()
    assert reverse("ops:radar") == URL
