"""Temporary folders for uploaded files: the remains of a killed process are removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from memory import spool

_HOLDS_ONE = """
import sys, time
from memory.spool import open_folder
with open_folder() as folder:
    (folder / "cube").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_has_left_goes_and_what_is_in_use_stays(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", _HOLDS_ONE]
    with spool.open_folder() as mine, subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path(spool.__file__).parents[1]
    ) as other:  # fmt: skip
        left = Path(other.stdout.readline().strip())
        assert spool.clear_leftovers() == 0
        assert (left / "cube").read_text() == "secret"
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert spool.clear_leftovers() == 1
        assert not left.exists()
        assert mine.exists()
    assert list(tmp_path.iterdir()) == []
