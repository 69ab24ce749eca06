"""Builds the TypeScript client as npm publishes it, and installs its tarball as a program would."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sdk" / "typescript"
BUILT = ("node_modules", "dist")
SECONDS = 300
# Errors of npm if its registry is unreachable or lacks the package.
AWAY = (
    "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED", "E404", "ETARGET",
)  # fmt: skip


@dataclass(frozen=True)
class NodePackage:
    """`source` is a copy of the package with its tools, `home` a folder in which the tarball is installed."""

    source: Path
    home: Path

    @property
    def modules(self) -> Path:
        return self.home / "node_modules"

    def tool(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the package's tools (`tsc`, `openapi-typescript`), and return its result even if it fails."""
        return run_program([str(self.source / "node_modules" / ".bin" / name), *arguments], self.home)


@pytest.fixture(scope="session")
def node_package(tmp_path_factory: pytest.TempPathFactory) -> NodePackage:
    """Return the client as it is published, built once for all processes of a run."""
    folder = tmp_path_factory.getbasetemp()
    return install((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "typescript")


def install_published(tmp_path_factory: pytest.TempPathFactory, package: str) -> Path:
    """Install a package of the registry into a folder; skip the test if npm or the registry is missing."""
    _need_node()
    folder = tmp_path_factory.mktemp("published")
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n', encoding="utf-8")
    _npm(folder, "install", "--prefer-offline", "--ignore-scripts", "--legacy-peer-deps", package)
    return folder


def install_locked(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    """Install the packages of a `package.json` and its lock into a folder; skip the test without npm or registry."""
    _need_node()
    folder = tmp_path_factory.mktemp("locked")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(package / name, folder)
    _npm(folder, "ci", "--prefer-offline", "--ignore-scripts")
    return folder


def _need_node() -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed: apt-get install nodejs npm")


def install(folder: Path) -> NodePackage:
    """Build the package once for all processes that share `folder`; skip the test if npm or the registry is missing."""
    _need_node()
    package = NodePackage(folder / "source", folder / "home")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _build(package)
            (folder / "done").touch()
    return package


def _build(package: NodePackage) -> None:
    for left in (package.source, package.home):
        shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(PACKAGE, package.source, ignore=shutil.ignore_patterns(*BUILT))
    package.home.mkdir()
    (package.home / "package.json").write_text('{"private": true, "type": "module"}\n', encoding="utf-8")
    _npm(package.source, "ci")
    _npm(package.source, "pack", "--pack-destination", str(package.home))
    (tarball,) = package.home.glob("*.tgz")
    _npm(package.home, "install", "--prefer-offline", str(tarball))


def _npm(folder: Path, *arguments: str) -> None:
    done = run_program(["npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error"], folder)
    if done.returncode and any(sign in done.stderr for sign in AWAY):
        pytest.skip(f"npm gets no packages from its registry: {done.stderr.strip().splitlines()[0]}")
    assert done.returncode == 0, done.stdout + done.stderr


def run_program(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder`, and return its result even if it fails."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
