from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.sdk.node_package import node_package  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sdk" / "python"
# Each extra installs an adapter.
EXTRAS = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
PROGRAMS = Path(__file__).parent / "programs"
CLIENTS, CREWAI = ".venv-clients", ".venv-crewai"
SECONDS = 300
# These settings disable the frameworks' telemetry.
SILENT = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "AGNO_TELEMETRY": "false",
    "LANGSMITH_TRACING": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SDK_DISABLED": "true",
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the client's wheel into a folder, and return the folder."""
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    for arguments in (
        ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(PACKAGE)],
        ["install", "--no-deps", "--no-index", "--target", str(target), "--find-links", str(wheels), "memos-client"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def memos_client(installed: Path) -> ModuleType:
    """Import the installed package."""
    sys.path.insert(0, str(installed))
    try:
        module = importlib.import_module("memos_client")
    finally:
        sys.path.remove(str(installed))
    assert str(installed) in str(module.__file__)
    return module


@pytest.fixture
def memos(memos_client: ModuleType, live_server: Any, alice: Any) -> Any:
    with memos_client.MemOS(live_server.url, alice.token, namespace="alice") as client:
        yield client


@pytest.fixture
def run_framework(installed: Path, live_server: Any, alice: Any, tmp_path: Path) -> Callable[[str], str]:
    """Run a program where its framework is, with the client from its wheel, and return its output."""

    def run(program: str) -> str:
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

    return run
