"""Two nodes, each with a web server and a worker, on one PostgreSQL and one Valkey."""

from __future__ import annotations

import http.cookiejar
import itertools
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from memos_site import runtime
from tests.crash.server import Server, wait_for
from tests.crash.test_killed_parts import memories, turn

SECRETS = {
    "MEMOS_SECRET_KEY": "only-for-tests-0123456789012345678901234567890123456789",
    "MEMOS_ADMIN_PASSWORD": "kiln-and-clay-4711",
    "MEMOS_DEMO": "0",
    "MEMOS_RATE_LIMIT_PER_MINUTE": "0",
}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """Start two nodes; the first one runs the servers that both use."""
    folder = tmp_path_factory.mktemp("nodes")
    first = Server(folder / "first", **SECRETS)
    first.start()
    found = runtime.discover(first.folder)
    second = Server(folder / "second", **SECRETS, DATABASE_URL=found["DATABASE_URL"], REDIS_URL=found["REDIS_URL"])
    second.start()
    second.key = first.key
    yield first, second
    second.stop()
    first.stop()


def ask(node: Server, namespace: str, text: str, session: str = "s") -> list[str]:
    body = {"namespace": namespace, "session_id": session, "query": text, "top_k": 3}
    return [chunk["text"] for chunk in node.call("/v1/query", body)["raw_chunks"]]


def test_what_one_node_acknowledged_the_other_finds_at_once(nodes):
    for number in range(40):
        writer, reader = nodes if number % 2 else reversed(nodes)
        written = turn("shared", number)
        memory_id = writer.call("/v1/ingest", written)["memory_id"]
        body = {"namespace": "shared", "session_id": "s", "query": f"crate with mark {number}", "top_k": 3}
        found = reader.call("/v1/query", body)
        assert written["text"] in [chunk["text"] for chunk in found["raw_chunks"]]
        window = found["context_pack"]["working_memory"]["l1_window"]
        assert window[-1]["memory_id"] == memory_id


def test_a_correction_at_one_node_is_what_the_other_says(nodes):
    first, second = nodes
    memory_id = first.call("/v1/ingest", turn("edited", 1))["memory_id"]
    assert ask(second, "edited", "crate with mark 1")
    request = urllib.request.Request(
        f"http://127.0.0.1:{first.port}/v1/memories/{memory_id}",
        data=b'{"text": "the crate with mark 1 was sold", "reason": "test"}',
        headers={"Authorization": f"Bearer {first.key}", "Content-Type": "application/json"},
        method="PATCH",
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        assert response.status == 200
    assert ask(second, "edited", "crate with mark 1") == ["the crate with mark 1 was sold"]


def test_what_one_node_knows_of_a_policy_and_of_a_key_changes_with_the_other(nodes):
    first = nodes[0]

    def verdict(node: Server) -> str:
        written = turn("governed", 1) | {"text": "Write to kiln@example.com about the crate in hall 3."}
        return str(node.call("/v1/ingest", written)["verdict"])

    # Both nodes have read the policy that is about to change.
    assert [verdict(node) for node in nodes] == ["accept", "accept"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{first.port}/v1/policy",
        data=b'{"namespace": "governed", "policy": {"gate": {"personal_data": "quarantine"}}}',
        headers={"Authorization": f"Bearer {first.key}", "Content-Type": "application/json"},
        method="PUT",
    )
    urllib.request.urlopen(request, timeout=20).close()
    for node in nodes:
        # Any of a node's processes may answer.
        wait_for(
            lambda node=node: {verdict(node) for _ in range(8)} == {"quarantine"}, what="the new policy", seconds=20
        )

    issued = first.manage("issue_api_key", "leaver", "--all-namespaces").strip().splitlines()[-1]
    for node in nodes:
        assert node.call("/v1/policy?namespace=governed", Authorization=f"Bearer {issued}")
    revoke = (
        "from django.utils import timezone; from memory.models import ApiKey; "
        "from memory.services.tenancy import keys; "
        "keys.revoke_key(key_id=ApiKey.objects.get(name='leaver').pk, actor='test', now=timezone.now())"
    )
    first.manage("shell", "--no-imports", "--verbosity", "0", "-c", revoke)
    for node in nodes:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            node.call("/v1/policy?namespace=governed", Authorization=f"Bearer {issued}")


def test_a_key_has_one_limit_at_all_nodes(nodes):
    key = nodes[0].manage("issue_api_key", "limited", "--all-namespaces", "--requests-per-minute", "10")
    token = key.strip().splitlines()[-1]
    statuses = []
    # If a minute ended meanwhile, a new count would begin.
    time.sleep(max(0.0, 60 - time.time() % 60 + 0.2) if time.time() % 60 > 45 else 0)
    for node, number in zip(itertools.cycle(nodes), range(24), strict=False):
        try:
            node.call("/v1/ingest", turn("limited", number), Authorization=f"Bearer {token}")
            statuses.append(200)
        except urllib.error.HTTPError as error:
            statuses.append(error.code)
    assert statuses.count(200) == 10
    assert statuses.count(429) == 14


def test_a_request_that_is_repeated_at_the_other_node_is_carried_out_once(nodes):
    answers = [node.call("/v1/ingest", turn("once", 1), Idempotency_Key="one-and-the-same") for node in nodes]
    assert answers[0]["memory_id"] == answers[1]["memory_id"]
    assert len(memories(nodes[1], "once")) == 1


def test_who_signed_in_at_one_node_is_known_at_the_other(nodes):
    first, second = nodes
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"http://127.0.0.1:{first.port}/admin/login/", timeout=20) as page:
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
    form = {"csrfmiddlewaretoken": token, "username": "admin", "password": SECRETS["MEMOS_ADMIN_PASSWORD"]}
    login = urllib.request.Request(
        f"http://127.0.0.1:{first.port}/admin/login/?next=/ops/",
        data=urllib.parse.urlencode(form).encode(),
        headers={"Referer": f"http://127.0.0.1:{first.port}/admin/login/"},
    )
    browser.open(login, timeout=20).close()
    # Cookies ignore ports, so the browser takes them to the other node.
    with browser.open(f"http://127.0.0.1:{second.port}/ops/account/", timeout=20) as page:
        assert page.url.endswith("/ops/account/")


def test_an_erasure_is_gone_from_both_nodes_when_its_receipt_says_so(nodes):
    for number in range(20):
        nodes[0].call("/v1/ingest", turn("gone", number))
    for node in nodes:
        wait_for(lambda node=node: ask(node, "gone", "crate with mark 3"), what="found at each node")
    body = {"namespace": "gone", "whole_namespace": True, "confirm": "gone", "reason": "test"}
    erasure = nodes[0].call("/v1/erasures", body)["id"]
    finished = lambda: nodes[1].call(f"/v1/erasures/{erasure}")["status"] == "finished"  # noqa: E731
    wait_for(finished, what="the erasure's end")
    assert [ask(node, "gone", "crate with mark 3") for node in nodes] == [[], []]


def test_what_runs_by_the_clock_runs_once_for_all_nodes(nodes):
    program = (
        "from django.utils import timezone; from django_q.models import Schedule; "
        "Schedule.objects.filter(name='memos: forget finished jobs').update(next_run=timezone.now())"
    )

    def runs() -> Any:
        listed = nodes[0].call("/v1/ops/pipeline")["schedules"]
        return next(one for one in listed if one["name"] == "forget finished jobs")["runs"]

    wait_for(lambda: runs() >= 1, what="the run of a new schedule", seconds=90)
    time.sleep(3)
    assert runs() == 1
    nodes[0].manage("shell", "--no-imports", "--verbosity", "0", "-c", program)
    wait_for(lambda: runs() >= 2, what="a run of the schedule", seconds=90)
    time.sleep(3)
    assert runs() == 2


class Balancer:
    """A load balancer that drains nodes: it sends each request to the next node that accepts requests."""

    def __init__(self, nodes: tuple[Server, Server]) -> None:
        self.failed: list[str] = []
        self.acknowledged: dict[str, int] = {}
        self._open = list(nodes)
        self._turns = itertools.count()
        self._under_way = {node.port: 0 for node in nodes}
        self._changed = threading.Condition()

    def drain(self, node: Server) -> None:
        with self._changed:
            self._open.remove(node)
            self._changed.wait_for(lambda: self._under_way[node.port] == 0, timeout=30)

    def take_back(self, node: Server) -> None:
        self._open.append(node)

    def run(self, numbers: Iterator[int], ends: threading.Event) -> None:
        while not ends.is_set():
            with self._changed:
                number = next(numbers)
                node = self._open[next(self._turns) % len(self._open)]
                self._under_way[node.port] += 1
            try:
                self.acknowledged[node.call("/v1/ingest", turn("rolling", number))["memory_id"]] = number
                ask(node, "rolling", f"crate with mark {number}")
            except Exception as error:  # whatever it is, a client was not served
                self.failed.append(f"{node.port}: {error!r}")
            finally:
                with self._changed:
                    self._under_way[node.port] -= 1
                    self._changed.notify_all()


def test_a_rolling_restart_fails_no_request_and_loses_nothing(nodes):
    balancer, ends, numbers = Balancer(nodes), threading.Event(), itertools.count()
    clients = [threading.Thread(target=balancer.run, args=(numbers, ends)) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        for node in nodes:
            wait_for(lambda: len(balancer.acknowledged) > 20, what="requests under way")
            before = node.part("granian")
            balancer.drain(node)
            before.terminate()
            psutil.wait_procs([before], timeout=60)
            wait_for(lambda node=node: _is_up(node), what="the node's next start")
            balancer.take_back(node)
        assert all(client.is_alive() for client in clients)
    finally:
        ends.set()
        for client in clients:
            client.join()
    assert balancer.failed == []
    assert memories(nodes[0], "rolling") == balancer.acknowledged


def _is_up(node: Server) -> bool:
    try:
        return bool(node.call("/health/ready"))
    except OSError:
        return False
