"""kill -9 of each process of an idle worker: the jobs that come afterwards are done."""

from __future__ import annotations

import pytest

from tests.crash.server import Server, wait_for
from tests.crash.test_killed_parts import turn


def summarised(server: Server, namespace: str) -> bool:
    """Asks for a summary of a new session and waits for it."""
    items = [turn(namespace, number) for number in range(40)]
    server.patient_call("/v1/ingest/batch", {"items": items})
    rows = wait_for(
        lambda: server.patient_call(f"/v1/ops/condensations?namespace={namespace}")["condensations"],
        seconds=40,
        what=f"a summary in {namespace}",
    )
    return bool(rows)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "second", "third"])
def test_a_process_that_is_killed_while_it_waits_takes_no_lock_with_it(server, place):
    assert summarised(server, f"before-{place}")
    [guard] = server.part("qcluster").children()
    guard.children()[place].kill()

    assert summarised(server, f"after-{place}")
