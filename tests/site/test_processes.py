"""Programs that `make run` starts: they wait until they may begin, and end with everything that they started."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

from memos_site.processes import Process
from tests.crash.server import wait_for

PROGRAM = """
import subprocess, sys, time
if "--held" in sys.argv:
    sys.stdin.readline()
print("begun", *sys.argv[1:], subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def started(folder: Path, **how: bool) -> tuple[Process, Path]:
    process = Process("part", [sys.executable, "-c", PROGRAM], log_file=folder / "log")
    process.start(**how)
    return process, folder / "log"


def test_a_held_program_begins_when_it_is_released(tmp_path):
    process, log = started(tmp_path, held=True)
    assert process.status is None
    assert log.read_text() == ""
    process.release()
    wait_for(lambda: log.read_text().startswith("begun --held"), what="it begins", seconds=30)
    process.stop()


def test_what_a_program_started_ends_with_it(tmp_path):
    process, log = started(tmp_path)
    wait_for(lambda: log.read_text().endswith("\n"), what="it begins", seconds=30)
    below = psutil.Process(int(log.read_text().split()[-1]))
    process.stop()

    assert process.status is not None
    below.wait(10)


def test_one_that_has_ended_is_started_again(tmp_path):
    process, log = started(tmp_path)
    wait_for(lambda: log.read_text().endswith("\n"), what="it begins", seconds=30)
    process.kill_rest()
    assert process.status == -9
    process.start()
    wait_for(lambda: log.read_text().count("begun") == 2, what="it begins again", seconds=30)
    assert process.status is None
    process.stop()
