"""A replica beside web processes that hold namespaces as columns, as they do by default."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.server import wait_for
from tests.deploy.replica import World, world
from tests.deploy.test_replica import searches


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("replica")) as made:
        yield made


def test_what_the_process_holds_is_brought_up_to_date_by_the_primary(both: World) -> None:
    kept = both.remember("alice", "The kite got stuck in the oak.")
    both.wait_until_even()
    assert kept in both.ask("alice", "Where is the kite?")

    def is_held() -> bool:
        with both.standby.listen() as lines:
            assert kept in both.ask("alice", "Where is the kite?")
        return not searches(lines)

    wait_for(is_held, what="a namespace that is held", seconds=60)
    both.standby.pause()
    try:
        later = both.remember("alice", "The kite was taken down by the fire brigade.")
        with both.standby.listen() as lines:
            assert later in both.ask("alice", "Who took the kite down?")
        assert not searches(lines)
    finally:
        both.standby.resume()
    # With a filter no process answers from what it holds.
    both.wait_until_even()
    filtered = {"namespace": "alice", "query": "kite", "filter": {"role": "user"}}

    def is_searched_there() -> bool:
        with both.standby.listen() as lines:
            both.call("alice", "/v1/search", filtered)
        return bool(searches(lines))

    wait_for(is_searched_there, what="a search that the replica answers", seconds=60)


def test_an_evaluation_of_a_namespace_reads_from_the_replica(both: World) -> None:
    kept = both.remember("alice", "The sledge is in the barn.")
    marks = [{"memory_id": kept, "relevant": True}]
    both.call("admin", "/v1/judgements", {"namespace": "alice", "query": "Where is the sledge?", "marks": marks})
    both.wait_until_even()
    with both.standby.listen() as lines:
        run = both.call("admin", "/v1/evaluations", {"namespace": "alice"})

        def result() -> dict[str, object] | None:
            seen: dict[str, object] = both.call("admin", f"/v1/evaluations/{run['id']}")
            return seen if seen["status"] in ("finished", "failed") else None

        ended = wait_for(result, what="an evaluation that has ended", seconds=120)
    assert ended["status"] == "finished", ended
    assert searches(lines)
