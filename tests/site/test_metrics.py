"""The metrics' text, from any process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from memory.metrics import exposition, observe_request

ROOT = Path(__file__).resolve().parents[2]


def test_gauges_come_with_help_and_type_beside_the_counters():
    observe_request(method="GET", route="v1/x", status=200, seconds=0.01)
    text = exposition({"memos_things": ("Things that are there", 3.0), "memos_large": ("Large", 1_500_000.0)}).decode()

    families = {family.name: family for family in text_string_to_metric_families(text)}
    things = families["memos_things"]
    assert (things.type, things.documentation, things.samples[0].value) == ("gauge", "Things that are there", 3.0)
    assert families["memos_large"].samples[0].value == 1_500_000.0
    assert text.endswith("\n")
    labels = [sample.labels for sample in families["memos_http_requests"].samples]
    assert {"method": "GET", "route": "v1/x", "status": "200"} in labels


def test_gauges_are_not_rounded():
    text = exposition({"memos_memories": ("Memories", 2_345_678.0)}).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["memos_memories"].samples[0].value == 2_345_678.0


def test_counters_of_several_processes_add_up(tmp_path):
    program = (
        "from memory.metrics import observe_request, exposition\n"
        "observe_request(method='GET', route='v1/x', status=200, seconds=0.01)\n"
        "print(exposition({}).decode())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    texts = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    counted = [
        sample.value
        for text in texts
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "memos_http_requests_total"
    ]
    assert counted == [1.0, 2.0]


def test_who_takes_the_place_of_another_counts_on_in_its_files(tmp_path):
    program = (
        "from memory.metrics import observe_request, exposition, take_place\n"
        "take_place('web')\n"
        "observe_request(method='GET', route='v1/x', status=200, seconds=0.01)\n"
        "print(exposition({}).decode())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for count in (1, 2):
        text = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert f'memos_http_requests_total{{method="GET",route="v1/x",status="200"}} {count}.0' in text
    assert "histogram_web-0.db" in os.listdir(tmp_path)
    assert len(list(tmp_path.glob("histogram_*.db"))) == 1


def test_each_process_has_a_place_of_its_own_until_it_ends(tmp_path):
    program = "import sys; from memory.metrics import take_place; take_place('web'); print('has one', flush=True)"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    waits = [sys.executable, "-c", f"{program}; sys.stdin.read()"]
    with ExitStack() as stack:
        for _ in range(2):
            one = subprocess.Popen(waits, env=environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.enter_context(one)
            assert one.stdout.readline() == b"has one\n"
        assert sorted(file.name for file in tmp_path.glob("*.lock")) == ["web-0.lock", "web-1.lock"]
        one.kill()
        one.wait()
        subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, check=True)
        assert len(list(tmp_path.glob("*.lock"))) == 2
