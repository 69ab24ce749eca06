"""Programs in the containers besides the server: the secrets of the first start, health checks, the build script."""

from __future__ import annotations

import http.server
import os
import pwd
import stat
import subprocess
import sys
import threading
import tomllib
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from deploy import healthcheck
from deploy.make_secrets import make_secrets
from tests.deploy.compose import ROOT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
if not os.environ.get("MEMOS_SECRET_KEY_FILE"):
    os.environ.setdefault("MEMOS_SECRET_KEY", "only-for-tests")

POSTGRES = {"POSTGRES_HOST": "db", "POSTGRES_USER": "memos", "POSTGRES_DB": "memos"}
SCRIPTS = sorted((ROOT / "deploy").glob("*.sh"))


def made(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_first_start_makes_secrets_that_only_their_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    make_secrets(folder, POSTGRES)
    secrets = made(folder)
    assert set(secrets) == {"secret_key", "postgres_password", "database_url"}
    assert len(secrets["secret_key"]) >= 50
    assert len(secrets["postgres_password"]) >= 40
    assert secrets["database_url"] == f"postgresql://memos:{secrets['postgres_password']}@db:5432/memos"
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o400}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_later_start_keeps_them(tmp_path: Path) -> None:
    make_secrets(tmp_path, POSTGRES)
    before = made(tmp_path)
    make_secrets(tmp_path, POSTGRES)
    assert made(tmp_path) == before


@pytest.mark.parametrize("name", ["BACKUP_FOLDER", "ACTIVATION_FOLDER"])
def test_a_folder_that_is_given_is_the_owners_alone(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "given"
    folder.mkdir(mode=0o755)
    owner = pwd.getpwuid(os.geteuid()).pw_name
    make_secrets(tmp_path / "secrets", {**POSTGRES, name: str(folder)}, owner)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.owner() == owner


def test_two_deployments_differ(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_secrets(tmp_path / name, POSTGRES)
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    assert all(one[name] != two[name] for name in one)


def test_given_values_win_and_the_password_is_kept(tmp_path: Path) -> None:
    make_secrets(tmp_path, POSTGRES)
    before = made(tmp_path)
    make_secrets(tmp_path, {**POSTGRES, "MEMOS_SECRET_KEY": "given", "DATABASE_URL": "postgresql://u@elsewhere/memos"})
    assert made(tmp_path) == {
        "secret_key": "given",
        "database_url": "postgresql://u@elsewhere/memos",
        "postgres_password": before["postgres_password"],
    }
    make_secrets(tmp_path, POSTGRES)
    assert made(tmp_path)["database_url"] == before["database_url"]


def test_an_interrupted_start_is_repaired(tmp_path: Path) -> None:
    (tmp_path / ".secret_key.tmp").write_text("half")
    (tmp_path / "secret_key").write_text("")
    make_secrets(tmp_path, POSTGRES)
    assert len(made(tmp_path)["secret_key"]) >= 50
    assert ".secret_key.tmp" not in made(tmp_path)


def test_it_says_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.make_secrets", str(tmp_path)],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **POSTGRES},
    )
    assert done.stdout + done.stderr == b""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[http.server.BaseHTTPRequestHandler]]:
    class Handler(http.server.BaseHTTPRequestHandler):
        status = 200
        paths: list[str] = []

        def do_GET(self) -> None:
            self.paths.append(self.path)
            self.send_response(self.status)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listening:
        monkeypatch.setenv("MEMOS_PORT", str(listening.server_port))
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield Handler
        listening.shutdown()


def test_a_ready_server_is_healthy(server: type[http.server.BaseHTTPRequestHandler]) -> None:
    healthcheck.check_web()
    assert server.paths == ["/health/ready"]


def test_a_server_that_is_not_ready_is_not_healthy(server: type[http.server.BaseHTTPRequestHandler]) -> None:
    server.status = 503
    with pytest.raises(urllib.error.HTTPError):
        healthcheck.check_web()


def test_no_server_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_PORT", "1")
    with pytest.raises(urllib.error.URLError):
        healthcheck.check_web()


def test_a_worker_is_healthy_while_it_reports_itself() -> None:
    from django_q.brokers import Broker
    from django_q.signing import SignedPackage
    from django_q.status import Stat, Status

    with override_settings(CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}):
        elsewhere, here = Status(1, "elsewhere"), Status(1, "here")
        elsewhere.host = "another-container"
        Broker().set_stat(Stat.get_key("elsewhere"), SignedPackage.dumps(elsewhere, True), 3)
        with pytest.raises(RuntimeError, match="does not report itself"):
            healthcheck.check_worker()
        Broker().set_stat(Stat.get_key("here"), SignedPackage.dumps(here, True), 3)
        healthcheck.check_worker()


def test_there_are_scripts() -> None:
    assert SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_shell_script_parses_and_can_be_run(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert os.access(script, os.X_OK)


def test_the_build_script_tags_the_version_of_the_project(tmp_path: Path) -> None:
    """Run the script with a fake `docker` that prints its arguments."""
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "$PWD: $*"\n')
    docker.chmod(0o755)
    run = [str(ROOT / "deploy/build-image.sh")]
    given = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PIP_INDEX_URL": "https://mirror.test/simple",
             "WITH_TELEMETRY": "1"}  # fmt: skip
    said = [
        subprocess.run([*run, *argument], capture_output=True, text=True, check=True, cwd=tmp_path, env=given).stdout
        for argument in ([], ["9.9"])
    ]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    arguments = "--build-arg PIP_INDEX_URL=https://mirror.test/simple --build-arg WITH_TELEMETRY=1"
    start = f"{ROOT}: build --pull {arguments} --tag memos:"
    assert said[0].startswith(f"{start}{version} .\n")
    assert said[1].startswith(f"{start}9.9 .\n")
