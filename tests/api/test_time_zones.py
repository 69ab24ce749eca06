"""Days begin in the time zone of the request, of the key's user or of the namespace."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from django.utils import timezone

from memory.models import ApiKey, User
from memory.retrieval.question import question
from memory.services.summaries.condense import condense_session
from memory.services.tenancy import zones
from memory.services.tenancy.policy import put_policy
from memory.text.zones import read_zone

# EVENING is already the 8th in Shanghai, and MORNING is still the 6th in Los Angeles.
EVENING = datetime(2026, 5, 7, 20, 0, tzinfo=UTC)
MORNING = datetime(2026, 5, 7, 1, 0, tzinfo=UTC)
QUESTION = {"namespace": "alice", "query": "When did I book the dentist?"}


@pytest.fixture(autouse=True)
def _no_former_zones():
    zones._zones.clear()


@pytest.fixture
def dentist(alice, remember):
    remember(alice, "I booked the dentist in Wels.", occurred_at=EVENING)
    return alice


def give_user(tenant, zone: str) -> None:
    """Make a user who lives in the time zone, and give the key to this user."""
    scope, now = tenant.scope, timezone.now()
    times = {"created_at": now, "updated_at": now}
    user = User.objects.create(
        namespace_id=scope.namespace_id, name="lin", preferences={"timezone": zone}, created_by="tests", **times
    )
    ApiKey.objects.filter(namespaces=scope.namespace_id).update(owner_id=user.pk)


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/query", QUESTION),
        ("/v1/search", QUESTION),
        ("/v1/answer", QUESTION),
        ("/v1/chat", {"namespace": "alice", "message": "When?"}),
        ("/v1/ingest", {"namespace": "alice", "text": "Tea is at five."}),
    ],
)
@pytest.mark.parametrize("zone", ["Nowhere/Land", "+08:00", "", 8])
def test_an_unknown_zone_is_refused(alice, route, body, zone):
    answer = alice.post(route, {**body, "timezone": zone})

    assert answer.status_code == 400
    [problem] = answer.json()["error"]["detail"]
    assert problem["field"] == "timezone"
    assert "IANA name" in problem["problem"]


def test_an_unknown_zone_of_a_user_or_a_policy_is_refused(make_tenant):
    chief = make_tenant("alice", scopes=("read", "write", "admin"))
    user = chief.post("/v1/users", {"namespace": "alice", "name": "lin", "preferences": {"timezone": "Nowhere"}})
    assert user.status_code == 400
    assert user.json()["error"]["detail"][0]["field"] == "preferences.timezone"
    wrong = {"namespace": "alice", "policy": {"timezone": "Nowhere"}}
    policy = chief.client.put("/v1/policy", data=wrong, content_type="application/json")
    assert policy.status_code == 400
    assert "IANA name" in str(policy.json()["error"]["detail"])


def test_answers_and_packs_tell_the_days_of_the_request(dentist):
    assert "7 May 2026" in dentist.post("/v1/answer", QUESTION).json()["answer"]
    asked = {**QUESTION, "timezone": "Asia/Shanghai"}
    assert "8 May 2026" in dentist.post("/v1/answer", asked).json()["answer"]
    assert "2026-05-08" in dentist.post("/v1/query", asked).json()["context_pack"]["text"]


def test_the_request_then_the_user_then_the_policy(dentist):
    def tell_day(**more: str) -> str:
        answer: str = dentist.post("/v1/answer", {**QUESTION, **more}).json()["answer"]
        return answer

    put_policy(dentist.scope, wanted={"timezone": "Asia/Shanghai"}, now=timezone.now())
    assert "8 May 2026" in tell_day()
    give_user(dentist, "America/Los_Angeles")
    assert "7 May 2026" in tell_day()
    assert "8 May 2026" in tell_day(timezone="Asia/Tokyo")


def test_yesterday_is_that_of_the_zone():
    now = datetime(2026, 5, 8, 17, 0, tzinfo=UTC)

    def yesterday(zone: str) -> datetime:
        here = now.astimezone(read_zone(zone))
        vector = np.zeros(4, dtype=np.float32)
        asked = question("What did I buy yesterday?", vector=vector, model_id=1, familiarity=1.0, now=here)
        [span] = asked.spans
        return span.start.astimezone(UTC)

    assert yesterday("UTC") == datetime(2026, 5, 7, 0, 0, tzinfo=UTC)
    # In Shanghai it is past midnight, so the date is the 9th.
    assert yesterday("Asia/Shanghai") == datetime(2026, 5, 7, 16, 0, tzinfo=UTC)


def test_sessions_by_day_are_those_of_the_zone(alice):
    def session_of(**more: object) -> str:
        sent = {"namespace": "alice", "text": "Tea is at five.", "occurred_at": EVENING.isoformat(), **more}
        memory_id = alice.post("/v1/ingest", sent).json()["memory_id"]
        name: str = alice.get(f"/v1/memories/{memory_id}").json()["session_id"]
        return name

    assert session_of() == "2026-05-07"
    assert session_of(timezone="Asia/Shanghai") == "2026-05-08"
    put_policy(alice.scope, wanted={"timezone": "Asia/Shanghai"}, now=timezone.now())
    assert session_of() == "2026-05-08"
    assert session_of(timezone="UTC") == "2026-05-07"


def test_cards_tell_the_days_of_the_policy(alice, remember):
    put_policy(alice.scope, wanted={"timezone": "America/Los_Angeles"}, now=timezone.now())
    remember(alice, "I decided yesterday to move to Wels.", session="s", occurred_at=MORNING)
    [summary] = condense_session(alice.scope, session="s", now=timezone.now())

    assert "yesterday (2026-05-05)" in summary.condensed_text
    assert "2026-05-06" in summary.condensed_text
