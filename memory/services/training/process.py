"""Runs the trainer in a separate process: starts, follows and stops it, without the server's environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from memory.errors import MemosError

# The time limit of a training, which keeps one worker busy meanwhile.
MAX_SECONDS = 21_600
# The environment variables that a trainer gets: where programs and GPUs are.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "SYSTEMROOT", "LANG")
_POLL_SECONDS = 1.0
_CHECK_SECONDS = 60
_MAX_RESULT = 1024 * 1024
_KILLED = -9


class TrainingFailed(MemosError):
    """The trainer did not make an adapter; the message gives the reason and the remedy."""

    status = 409


class TrainingStopped(Exception):
    """The adapter is no longer wanted."""


@dataclass(frozen=True, slots=True)
class TrainerResult:
    """The result that the trainer reports."""

    base_sha256: str
    metrics: dict[str, Any]


def find_missing() -> str:
    """Return why nothing can be trained here, with the remedy; '' when it can."""
    try:
        # The program is the one of the settings, and its arguments are constants.
        done = subprocess.run(  # noqa: S603
            [_python(), "-P", "-m", "memory.trainer", "--check"],
            capture_output=True,
            timeout=_CHECK_SECONDS,
            env=_environment(Path("/")),
            check=True,
        )
        missing = json.loads(done.stdout)["missing"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return f"The Python of MEMOS_TRAINER_PYTHON ({_python()}) does not start the trainer."
    if missing:
        return (
            f"The trainer lacks {', '.join(missing)}: make install-train makes an environment with them, and "
            "MEMOS_TRAINER_PYTHON names its Python."
        )
    return ""


def run(folder: Path, *, wanted: Callable[[], bool], report: Callable[[int, int], None]) -> TrainerResult:
    """Train as the folder specifies. Raises TrainingFailed; TrainingStopped once `wanted` returns False."""
    deadline = time.monotonic() + MAX_SECONDS
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - as above; the folder is ours
            [_python(), "-P", "-m", "memory.trainer", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(folder),
            cwd=folder,
        )
    try:
        progress: list[tuple[int, int]] = []
        threading.Thread(target=_follow, args=(process, progress), daemon=True).start()
        while process.poll() is None:
            if progress:
                # Report from the job's own thread, because it owns the connection.
                report(*progress[-1])
            if not wanted():
                raise TrainingStopped
            if time.monotonic() > deadline:
                raise TrainingFailed(f"Training took longer than {MAX_SECONDS} seconds.")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
    finally:
        process.kill()
        process.wait()
    return _read_result(folder, process.returncode)


def _follow(process: subprocess.Popen[bytes], progress: list[tuple[int, int]]) -> None:
    """Keep the trainer's last report of its progress."""
    assert process.stdout is not None
    for line in process.stdout:
        try:
            said = json.loads(line)
            progress[:] = [(int(said["done"]), int(said["total"]))]
        except (ValueError, TypeError, KeyError):
            # The line was printed by a library.
            continue


def _read_result(folder: Path, status: int) -> TrainerResult:
    if (folder / "problem.json").exists():
        raise TrainingFailed(str(_read(folder / "problem.json")["problem"])[:400])
    if status != 0 or not (folder / "result.json").exists():
        why = (
            "it was killed, as when memory runs out" if status == _KILLED else f"status {status}: {_last_type(folder)}"
        )
        raise TrainingFailed(f"The trainer ended without an adapter ({why}).")
    result = _read(folder / "result.json")
    metrics = {**result["metrics"], "seconds": result["seconds"], "peak_bytes": result["peak_bytes"]}
    return TrainerResult(str(result["base_sha256"])[:64], metrics)


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return dict(json.loads(stream.read(_MAX_RESULT)))


def _last_type(folder: Path) -> str:
    """Return the type of the error that ended the trainer, without its message, which may quote a memory."""
    lines = (folder / "log").read_bytes()[-4096:].decode("utf-8", "replace").splitlines()
    named = [
        line.partition(":")[0] for line in lines if line and not line[0].isspace() and "Error" in line.partition(":")[0]
    ]
    return named[-1][:80] if named else "no error named"


def _python() -> str:
    return settings.MEMOS_TRAINER_PYTHON or sys.executable


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # Let waiting threads sleep: on a machine that does other work as well, spinning costs most.
        "OMP_WAIT_POLICY": "PASSIVE",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }
