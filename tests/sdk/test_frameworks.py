"""The adapters with the frameworks themselves, which live in an environment of their own, against a server of ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.conftest import ROOT

PROGRAMS = Path(__file__).parent / "programs"
CLIENTS, CREWAI = ".venv-clients", ".venv-crewai"
SECONDS = 300
# What they would send elsewhere.
SILENT = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "AGNO_TELEMETRY": "false",
    "LANGSMITH_TRACING": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SDK_DISABLED": "true",
}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(installed: Path, live_server: Any, alice: Any, tmp_path: Path) -> Callable[[str], str]:
    """Runs a program where its framework is, with the client from its wheel, and returns what it prints."""

    def run_(program: str) -> str:
        home = CREWAI if "crewai" in program else CLIENTS
        python = ROOT / home / "bin" / "python"
        if not python.exists():
            pytest.skip(f"the framework is not installed: make install-{home.removeprefix('.venv-')}")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": os.pathsep.join((str(installed), str(PROGRAMS))),
            "NO_PROXY": "127.0.0.1",
            "MEMOS_URL": live_server.url,
            "MEMOS_API_KEY": alice.token,
            "MEMOS_NAMESPACE": "alice",
            **SILENT,
        }
        done = subprocess.run(
            [str(python), "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("use_*.py")), ids=lambda path: path.stem)
def test_a_framework_with_its_adapter(run: Callable[[str], str], program: Path):
    run(program.read_text("utf-8"))
