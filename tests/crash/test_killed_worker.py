"""SIGKILL of each process of an idle worker: later jobs are done, and no process is left behind."""

from __future__ import annotations

import psutil
import pytest

from tests.crash.cluster import Cluster
from tests.crash.server import Server, wait_for
from tests.crash.test_killed_parts import turn


def summarised(server: Server, namespace: str) -> bool:
    """Ask for a summary of a new session and wait for it."""
    items = [turn(namespace, number) for number in range(40)]
    server.patient_call("/v1/ingest/batch", {"items": items})
    rows = wait_for(
        lambda: server.patient_call(f"/v1/ops/condensations?namespace={namespace}")["condensations"],
        seconds=180,
        what=f"a summary in {namespace}",
    )
    return bool(rows)


@pytest.mark.parametrize(("cluster", "part"), [("interactive", "idle"), ("memos", "idle"), ("memos", "pusher")])
def test_a_process_that_is_killed_while_it_waits_takes_no_lock_with_it(server, cluster, part):
    assert summarised(server, f"before-{cluster}-{part}")
    below = server.part(f"{cluster} guard").children()
    [victim] = [process for process in below if part in " ".join(process.cmdline())]
    victim.kill()

    assert summarised(server, f"after-{cluster}-{part}")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", ["main", "guard"])
def test_a_process_that_is_killed_leaves_none_behind_that_it_started(tmp_path, part):
    cluster = Cluster(tmp_path / "cluster.log")
    try:
        # Each of four clusters has a guard, which starts the worker, the pusher and the monitor.
        wait_for(lambda: len(cluster.process.children(recursive=True)) >= 16, what="all of the workers")
        guard = cluster.process.children()[0]
        below = cluster.process.children(recursive=True)
        (cluster.process if part == "main" else guard).kill()

        assert psutil.wait_procs([cluster.process, *below], timeout=20)[1] == []
    finally:
        cluster.stop()
