"""Every page of the console while PostgreSQL or Redis is away says so, and says what to do."""

from __future__ import annotations

from tests.ops.addresses import addresses

ADMIN = ("/admin/", "/admin/memory/memory/", "/admin/memory/quarantineditem/review/", "/admin/memory/apikey/")


def test_every_page_says_that_the_database_is_away(postgres_away, world, staff):
    every = addresses(world)
    staff.raise_request_exception = False
    postgres_away.take()
    for path, query in [*every.values(), *((path, {}) for path in ADMIN)]:
        answer = staff.get(path, query)
        page = answer.content.decode()
        if answer.status_code == 405:
            continue
        assert answer.status_code == 503, path
        assert "The database does not answer" in page, path
        assert "manage.py doctor" in page, path
        assert answer.headers["X-Request-ID"] in page, path
        assert 'class="side' not in page, path
        assert " style=" not in page, path


def test_a_deed_while_the_database_is_away_says_to_look_before_it_is_done_again(postgres_away, world, staff):
    staff.raise_request_exception = False
    postgres_away.take()
    page = staff.post("/ops/pipeline/jobs/operate/", {"next": "/ops/"})
    assert page.status_code == 503
    assert "Look whether what you did was stored" in page.content.decode()
    assert "Try again</a>" not in page.content.decode()


# Pages that need Redis, with the message that they show instead.
SAYS = {
    "overview": "Redis does not answer",
    "overview_live": "Redis does not answer",
    "session": "Redis does not answer: queries go without the session window.",
    "session_reset": "Redis does not answer, so the session cannot be reset now.",
    "audit_requests": "Redis",
    "radar_probe": "Redis, which keeps the question, does not answer.",
    "inspector_try": "Redis, which keeps the question, does not answer.",
}
REFUSED = {"session_reset", "radar_probe", "inspector_try"}


def test_every_page_works_without_redis_and_says_what_is_missing(redis_away, world, staff):
    every = addresses(world)
    redis_away()
    for name, (path, query) in every.items():
        answer = staff.get(path, query, follow=True)
        if answer.status_code == 405:
            continue
        assert answer.status_code == (503 if name in REFUSED else 200), path
        if name in SAYS:
            assert SAYS[name] in answer.content.decode(), path
    for path in ADMIN:
        assert staff.get(path).status_code == 200, path
