from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.sdk.node_package import node_package  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sdk" / "python"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the client's wheel was installed."""
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
    """The package, from where it was installed."""
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
