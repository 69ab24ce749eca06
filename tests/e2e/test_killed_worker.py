"""A worker is killed while someone watches its job."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from memory.services.jobs.queue import CONDENSE, enqueue
from tests.crash.cluster import Cluster, waiting_model, worker_of
from tests.ops.conftest import turns

# The job waits for its language model while the page opens; then it misses three heartbeats of ten seconds.
UNHURRIED = {
    "MEMOS_LLM_TIMEOUT_SECONDS": "20",
    "MEMOS_JOB_TIMEOUT_SECONDS": "40",
}


def test_a_worker_that_is_killed_is_named_without_a_reload(open_page, root, world, settings, tmp_path: Path):
    settings.MEMOS_JOB_RETRY_SECONDS = 60
    turns(world.harbour, "day shift", *(f"Crate {number} stands in hall {number}." for number in range(6)))
    enqueue(CONDENSE, world.harbour.namespace_id, "day shift")
    with waiting_model() as (endpoint, _):
        cluster = Cluster(tmp_path / "cluster.log", model=endpoint, **UNHURRIED)
        try:
            worker_of(cluster, endpoint)
            page = open_page("/ops/pipeline/", client=root)
            row = page.get_by_role("row").filter(has_text="condense_session").filter(has_text="running")
            expect(row).to_be_visible(timeout=15000)
            expect(row).not_to_contain_text("no heartbeat")

            cluster.kill()

            expect(row).to_contain_text(re.compile(r"no heartbeat \d+ s"), timeout=60000)
        finally:
            cluster.stop()
