"""A real streaming replica: what it answers, what it must not, and what happens when it is late or away."""

from __future__ import annotations

import json
import re
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psutil
import pytest

from tests.crash.server import wait_for
from tests.deploy.replica import PASSWORD, World, world

# Each arm of a search reads these; what the primary is asked beside a search does not.
SEARCH = re.compile(r"memory_(?:posting|embedding|memoryvector|vector)")
LISTS = (
    "/v1/memories?namespace=alice",
    "/v1/documents?namespace=alice",
    "/v1/entities?namespace=alice",
    "/v1/graph?namespace=alice",
    "/v1/ops/stats",
    "/v1/ops/pipeline",
    "/v1/ops/audit",
    "/v1/ops/condensations",
    "/v1/ops/context_packs",
    "/v1/ops/procedural",
    "/v1/ops/jobs",
    "/v1/usage",
    "/v1/evaluations",
    "/v1/judgements?namespace=alice",
    "/v1/erasures",
    "/v1/quarantine",
    "/v1/webhooks",
)
PAGES = (
    "/ops/",
    "/ops/pipeline/",
    "/ops/sessions/",
    "/ops/audit/",
    "/ops/ns/",
    "/ops/entities/",
    "/ops/quarantine/",
    "/ops/retired/",
    "/ops/evaluation/",
    "/ops/usage/",
    "/ops/webhooks/",
    "/ops/decay/",
    "/admin/memory/memory/",
    "/admin/memory/auditlog/",
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    # No namespace is held in the web process, which would answer from what it holds.
    with world(tmp_path_factory.mktemp("replica"), MEMOS_COLUMNS_MB="0") as made:
        yield made
        refuse_writes(made.standby.log.splitlines())


@pytest.fixture(autouse=True)
def _replayed(both: World) -> None:
    both.wait_until_even()


def searches(lines: list[str]) -> list[str]:
    return [line for line in lines if SEARCH.search(line)]


def ask_of_replica(both: World, who: str, text: str) -> list[str]:
    """What a query answers, once the replica is asked for it."""

    def answer() -> list[str] | None:
        with both.standby.listen() as lines:
            found = both.ask(who, text)
        return found if searches(lines) else None

    found: list[str] = wait_for(answer, what="a query that the replica answers", seconds=60)
    return found


def staff(both: World) -> httpx.Client:
    """A browser in which the administrator has signed in."""
    client = httpx.Client(base_url=f"http://127.0.0.1:{both.memos.port}", follow_redirects=True, timeout=60)
    client.get("/admin/login/")
    form = {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    assert client.post("/admin/login/?next=/ops/", data=form).url.path == "/ops/"
    return client


def test_lists_are_answered_by_the_replica(both: World) -> None:
    kept = both.remember("alice", "The blue bicycle stands in the cellar.")
    both.wait_until_even()
    with both.standby.listen() as lines:
        listed = both.call("alice", "/v1/memories?namespace=alice")
    assert kept in json.dumps(listed)
    assert any("memory_memory" in line for line in lines)


def test_each_list_and_page_is_answered_by_the_replica_and_writes_nothing_there(both: World) -> None:
    both.remember("alice", "Anna Berger moved to Lisbon in May.")
    browser = staff(both)
    for path in LISTS:
        both.wait_until_even()
        with both.standby.listen() as lines:
            both.call("admin", path)
        assert any("memory_" in line for line in lines), path
    for path in PAGES:
        both.wait_until_even()
        with both.standby.listen() as lines:
            assert browser.get(path).status_code == 200, path
        assert any("memory_" in line for line in lines), path


def test_a_query_is_answered_by_the_replica_and_kept_by_the_primary(both: World) -> None:
    kept = both.remember("bob", "The spare key hangs behind the clock.")
    assert kept in ask_of_replica(both, "bob", "Where is the spare key?")
    with both.primary.connect(user="postgres") as database:
        row = database.execute("SELECT count(*) FROM memory_contextpack WHERE query_text ~ 'spare key'").fetchone()
    assert row is not None
    assert row[0] > 0


def test_a_search_and_a_batch_are_answered_by_the_replica(both: World) -> None:
    kept = both.remember("bob", "The ladder was lent to Tom.")
    ask_of_replica(both, "bob", "Who has the ladder?")
    one = {"namespace": "bob", "query": "Who has the ladder?"}
    for path, body in (("/v1/search", one), ("/v1/search/batch", {"questions": [one]})):
        both.wait_until_even()
        with both.standby.listen() as lines:
            answered = both.call("bob", path, body)
        assert kept in json.dumps(answered)
        assert searches(lines), path


def test_what_one_wrote_is_found_at_once_while_the_replay_is_paused(both: World) -> None:
    lent = both.remember("bob", "The drill is lent to Maria.")
    ask_of_replica(both, "bob", "Who has the drill?")
    ask_of_replica(both, "alice", "What is in the cellar?")
    both.standby.pause()
    try:
        with both.standby.listen() as lines:
            kept = both.remember("alice", "The red suitcase is in the attic.")
            assert kept in both.ask("alice", "Where is the red suitcase?")
            assert kept in json.dumps(both.call("alice", "/v1/memories?namespace=alice"))
        assert not searches(lines)
        assert not any('FROM "memory_memory"' in line for line in lines)
        # Who wrote nothing is answered by the replica, and an administrator sees there what was before.
        with both.standby.listen() as lines:
            assert lent in both.ask("bob", "Who has the drill?")
        assert searches(lines)
        assert kept not in json.dumps(both.call("admin", "/v1/memories?namespace=alice"))
        # An edit, an archiving and a document are writes like any other.
        changed = {"text": "The red suitcase is at the station.", "reason": "moved"}
        response = httpx.patch(
            f"http://127.0.0.1:{both.memos.port}/v1/memories/{kept}",
            json=changed,
            headers={"Authorization": f"Bearer {both.keys['alice']}"},
        )
        assert response.status_code == 200
        found = both.call("alice", "/v1/query", {"namespace": "alice", "query": "Where is the red suitcase?"})
        assert "station" in json.dumps(found["raw_chunks"])
    finally:
        both.standby.resume()
    assert kept in ask_of_replica(both, "alice", "Where is the red suitcase?")


def test_what_staff_do_is_shown_at_once_while_the_replay_is_paused(both: World) -> None:
    kept = both.remember("alice", "The green lamp flickers.")
    browser = staff(both)
    both.wait_until_even()
    both.standby.pause()
    try:
        values = {
            "action": "archive_selected",
            "_selected_action": kept,
            "ids": kept,
            "reason": "x",
            "confirmed": "yes",
        }
        archived = browser.post(
            "/admin/memory/memory/", data={**values, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        )
        assert archived.status_code == 200
        assert both.call("alice", f"/v1/memories/{kept}")["state"] == "archived"
        with both.standby.listen() as lines:
            assert browser.get("/admin/memory/memory/").status_code == 200
        assert not any("memory_memory" in line for line in lines)
    finally:
        both.standby.resume()


def test_a_tenant_is_held_on_the_replica_as_on_the_primary(both: World) -> None:
    both.remember("alice", "The safe opens with the year of the wedding.")
    both.remember("bob", "The safe of the office is empty.")
    secret = "SELECT count(*) FROM memory_memory WHERE text ~ 'The safe opens'"
    ask_of_replica(both, "bob", "How does the safe open?")
    with both.standby.listen() as lines:
        # A connection that has answered Bob last is told nothing anew.
        assert "wedding" in json.dumps(both.call("alice", "/v1/memories?namespace=alice"))
        assert "wedding" not in json.dumps(both.call("bob", "/v1/memories?namespace=bob"))
        with pytest.raises(urllib.error.HTTPError) as refused:
            both.call("bob", "/v1/memories?namespace=alice")
    assert refused.value.code == 404
    assert any("'memos_app_one', $2 = '" in line for line in lines)
    for database in (both.primary, both.standby):
        with database.connect() as login:
            names = dict(login.execute("SELECT name, id FROM memory_namespace").fetchall())
            for role, reached, seen in (("one", "bob", 0), ("one", "alice", 1), ("some", "bob", 0)):
                told = "SELECT set_config('role', %s, false), set_config('memos.namespaces', %s, false)"
                login.execute(told, [f"memos_app_{role}", str(names[reached])])
                assert login.execute(secret).fetchone() == (seen,)
                login.execute("RESET ROLE")


def test_a_replica_that_was_stopped_is_missed_by_nobody_and_taken_up_again(both: World) -> None:
    kept = both.remember("bob", "The boat is called Margarete.")
    ask_of_replica(both, "bob", "What is the boat called?")
    both.standby.stop()
    try:
        assert kept in both.ask("bob", "What is the boat called?")
        assert kept in json.dumps(both.call("bob", "/v1/memories?namespace=bob"))
        later = both.remember("bob", "The boat was painted white.")
        assert later in both.ask("bob", "Which colour has the boat?")
        health = both.memos.call("/health/ready")
        assert health["status"] == "degraded"
        assert "the primary answers" in health["checks"]["replica"]
        assert "memos_replica_up 0" in metrics(both)
    finally:
        both.standby.start()
        both.standby.wait_ready()
    both.wait_until_even()
    assert later in ask_of_replica(both, "bob", "Which colour has the boat?")
    assert "memos_replica_up 1" in metrics(both)


def test_a_replica_that_hangs_keeps_nobody_waiting_for_ever(both: World) -> None:
    kept = both.remember("bob", "The violin is being repaired in Vienna.")
    ask_of_replica(both, "bob", "Where is the violin?")
    both.standby.freeze()
    try:
        assert kept in both.ask("bob", "Where is the violin?")
        assert kept in json.dumps(both.call("bob", "/v1/memories?namespace=bob"))
    finally:
        both.standby.thaw()
    assert kept in ask_of_replica(both, "bob", "Where is the violin?")


def test_without_redis_the_primary_answers(both: World) -> None:
    kept = both.remember("bob", "The tent is at the neighbours'.")
    ask_of_replica(both, "bob", "Where is the tent?")
    valkey: psutil.Process = both.memos.part("valkey-server")
    valkey.suspend()
    try:
        with both.standby.listen() as lines:
            assert kept in both.ask("bob", "Where is the tent?")
            later = both.remember("bob", "The tent has a hole.")
            assert later in both.ask("bob", "What is wrong with the tent?")
        assert not searches(lines)
    finally:
        valkey.resume()
    # What could not be noted meanwhile is noted for all.
    assert later in ask_of_replica(both, "bob", "What is wrong with the tent?")


def test_a_redis_that_forgot_everything_lets_nobody_read_what_was_before(both: World) -> None:
    both.remember("alice", "The old piano is out of tune.")
    ask_of_replica(both, "alice", "What about the piano?")
    both.standby.pause()
    try:
        kept = both.remember("alice", "The new piano is from Leipzig.")
        both.memos.manage("shell", "--no-imports", "-c",
                          "from memory.stores.redis import forget_everything; forget_everything()")  # fmt: skip
        assert kept in both.ask("alice", "Where is the new piano from?")
    finally:
        both.standby.resume()


def test_what_is_erased_is_read_by_nobody_from_a_late_replica(both: World) -> None:
    both.remember("bob", "The parrot says good morning.")
    ask_of_replica(both, "bob", "What does the parrot say?")
    both.standby.pause()
    try:
        asked = {"namespace": "bob", "session_id": "s", "confirm": True}
        both.call("admin", "/v1/sessions/reset", asked)
        assert "parrot" not in json.dumps(both.call("admin", "/v1/memories?namespace=bob"))
        assert both.ask("bob", "What does the parrot say?") == []
    finally:
        both.standby.resume()


def test_the_lag_is_shown(both: World) -> None:
    both.standby.pause()
    try:
        both.remember("alice", "The gate squeaks.")

        def lag() -> dict[str, Any] | None:
            shown: dict[str, Any] = both.memos.call("/health/ready")["replica_lag"]
            return shown if shown["bytes"] and shown["seconds"] else None

        assert wait_for(lag, what="a lag", seconds=30)
        assert re.search(r"^memos_replica_lag_bytes [1-9]", metrics(both), re.M)
        assert re.search(r"^memos_replica_lag_seconds \d", metrics(both), re.M)
    finally:
        both.standby.resume()


def test_a_promoted_replica_is_not_read_from(tmp_path: Path) -> None:
    """It has stopped following: what it has is older with each write."""
    with world(tmp_path, MEMOS_COLUMNS_MB="0") as made:
        kept = made.remember("bob", "The greenhouse was painted green.")
        made.wait_until_even()
        ask_of_replica(made, "bob", "What was painted?")
        assert made.standby.administer("SELECT pg_promote()") == (True,)
        later = made.remember("bob", "The greenhouse was painted white.")
        with made.standby.listen() as lines:
            assert {kept, later} <= set(made.ask("bob", "What was painted?"))
            assert later in json.dumps(made.call("bob", "/v1/memories?namespace=bob"))
            assert later in json.dumps(made.call("admin", "/v1/memories?namespace=bob"))
        assert not any("memory_" in line for line in lines)
        health = made.memos.call("/health/ready")
        assert health["status"] == "degraded"
        assert "not a standby" in health["checks"]["replica"]
        with made.standby.connect() as login:
            texts = login.execute("SELECT text FROM memory_memory").fetchall()
        assert texts == [("The greenhouse was painted green.",)]


def refuse_writes(lines: list[str]) -> None:
    """Raises AssertionError if any test sent the replica a statement that writes."""
    assert not [line for line in lines if "read-only transaction" in line or "during recovery" in line]
    written = re.compile(r"(?:statement|execute [^:]*): (?:INSERT|UPDATE|DELETE|TRUNCATE|.*\bINSERT INTO|.*FOR UPDATE)")
    assert not [line for line in lines if written.search(line)]


def metrics(both: World) -> str:
    with httpx.Client() as client:
        return client.get(f"http://127.0.0.1:{both.memos.port}/metrics").text
