"""Both compose files against the compose schema, the settings they set, and the rules of each deployment.

`compose-spec.json` is the schema of the Compose Specification, https://github.com/compose-spec/compose-spec
(schema/compose-spec.json, Apache-2.0: compose-spec.LICENSE), as shipped by the check-jsonschema 0.39.0 wheel.
"""

from __future__ import annotations

import graphlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import django
import jsonschema
import pytest
from django.urls import resolve

from tests.deploy.compose import DEV, FILES, MAIN, PANEL, ROOT, environment, load, mounts, services, texts, variables

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
if not os.environ.get("MEMOS_SECRET_KEY_FILE"):
    os.environ.setdefault("MEMOS_SECRET_KEY", "only-for-tests")

from memory.enums import JobPriority
from memory.services.jobs.broker import CLUSTERS
from memory.services.webhooks.broker import CLUSTER as WEBHOOKS
from memos_site import settings
from memos_site.embedded import POSTGRES_OPTIONS
from memos_site.embedded.postgres import MOST_BUFFERS

DECLARED = {setting.name: setting for setting in settings.env.declared}
# One command reads this variable, not the settings.
COMMAND_ONLY = {"MEMOS_ADMIN_PASSWORD"}
# The PostgreSQL image reads these, and deploy/make_secrets.py reads POSTGRES_HOST.
POSTGRES_ONLY = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE", "POSTGRES_HOST"}
# deploy/make_secrets.py reads these.
SECRETS_ONLY = {"BACKUP_FOLDER", "ACTIVATION_FOLDER"}
# The compose file itself reads these.
EXTRAS = {"WITH_DOCUMENTS", "WITH_TELEMETRY", "WITH_ACTIVATION", "WITH_TRAIN", "WITH_LANGUAGES"}
COMPOSE_ONLY = {"MEMOS_BIND", "MEMOS_CPUS", "MEMOS_VERSION", "PIP_INDEX_URL", *EXTRAS}
# Settings that the image fixes, that the service `secrets` receives, or that are never on where others reach the
# server.
NOT_PASSED = {
    *("MEMOS_DATA_DIR", "MEMOS_HOST", "MEMOS_PORT", "MEMOS_MODEL_DIR"),
    *("MEMOS_SECRET_KEY", "DATABASE_URL", "MEMOS_HF_PYTHON"),
    *("MEMOS_DEBUG", "MEMOS_ANONYMOUS"),
}
# Options of PostgreSQL as `make run` starts it, on one small machine.
OF_THE_EMBEDDED_ONE = {"listen_addresses", "log_min_messages", "io_workers", "max_logical_replication_workers"}
ONE_SHOT = {"secrets", "migrate"}
WORKER = ["python", "manage.py", "qcluster", "--name"]
# The worker for short jobs has the name of the former single worker, so Compose puts the new one in its place.
WORKERS = {
    "worker" if cluster == JobPriority.NORMAL.label else f"worker-{cluster}": cluster
    for cluster in (*(priority.label for priority in CLUSTERS), WEBHOOKS)
}
MEMOS = {"migrate", "web", *WORKERS}
ROLES = {"secrets", "postgres", "redis", *MEMOS}

both = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def role(name: str) -> str:
    return name.removeprefix("memos-")


def by_role(path: Path) -> dict[str, dict[str, Any]]:
    return {role(name): service for name, service in services(path).items()}


def networks_used(path: Path) -> set[str]:
    return {name for service in services(path).values() for name in service.get("networks", [])}


def as_list(command: str | list[str]) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else command


@pytest.mark.parametrize("path", [*FILES, DEV], ids=lambda path: path.name)
def test_it_fits_the_compose_schema(path: Path) -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(load(path))] == []
    assert not validator.is_valid({"services": {"web": {"image": "memos", "restrat": "no"}}})


@both
def test_it_has_every_service(path: Path) -> None:
    assert set(by_role(path)) == ROLES


@both
def test_every_variable_is_a_setting(path: Path) -> None:
    assert variables(path) - DECLARED.keys() <= COMPOSE_ONLY
    named = {name for service in services(path).values() for name in environment(service)}
    unknown = {name for name in named if name not in DECLARED and name.removesuffix("_FILE") not in DECLARED}
    assert unknown <= COMMAND_ONLY | POSTGRES_ONLY | SECRETS_ONLY
    assert all(DECLARED[name].secret for name in (n.removesuffix("_FILE") for n in named - DECLARED.keys() - unknown))


@pytest.mark.parametrize("name", sorted(COMMAND_ONLY))
def test_a_variable_of_a_command_is_read_somewhere(name: str) -> None:
    sources = [*ROOT.glob("memory/**/*.py"), *ROOT.glob("memos_site/**/*.py")]
    assert any(f'"{name}"' in source.read_text(encoding="utf-8") for source in sources)


@both
@pytest.mark.parametrize("name", sorted(MEMOS))
def test_every_setting_can_be_set(path: Path, name: str) -> None:
    given = set(environment(by_role(path)[name])) - COMMAND_ONLY
    wanted = DECLARED.keys() - COMMAND_ONLY - NOT_PASSED | {"MEMOS_SECRET_KEY_FILE", "DATABASE_URL_FILE"}
    assert given == wanted


@both
def test_only_the_first_start_needs_the_admin_password(path: Path) -> None:
    having = {name for name, service in by_role(path).items() if "MEMOS_ADMIN_PASSWORD" in environment(service)}
    assert having == {"migrate"}


@both
def test_no_secret_is_written_down(path: Path) -> None:
    for service in services(path).values():
        for name, value in environment(service).items():
            if re.search(r"SECRET|PASSWORD|API_KEY|DATABASE_URL", name):
                assert value is None or (name.endswith("_FILE") and value.startswith("/")), name
    for text in texts(path):
        assert not re.search(r"://[^/\s]*:[^/\s]*@", text), f"a password in a URL: {text}"
        assert not re.search(r"\b(sk-|mos_|ghp_)[A-Za-z0-9_]{16,}", text), f"a key: {text}"


@both
def test_the_secrets_that_are_read_are_made_and_mounted(path: Path, tmp_path: Path) -> None:
    roles = by_role(path)
    _make_secrets(roles["secrets"], tmp_path)
    (store, folder, mode), backups, activation = mounts(roles["secrets"])
    assert mode == "rw"
    # The user that runs MemOS must be able to write there, for the ledger of erasures.
    assert backups[1:] == (environment(roles["secrets"])["BACKUP_FOLDER"], "rw")
    # Nothing else in a container is writable: without the volume there are no activation caches.
    assert activation[1:] == (environment(roles["secrets"])["ACTIVATION_FOLDER"], "rw")
    for name in MEMOS:
        assert backups in mounts(roles[name])
        assert activation in mounts(roles[name])
        assert str(environment(roles[name])["MEMOS_ERASURE_LEDGER"]).startswith(backups[1])
    for name, service in roles.items():
        files = [value for key, value in environment(service).items() if key.endswith("_FILE")]
        assert bool(files) == (name in {"postgres", *MEMOS})
        for file in files:
            assert (store, folder, "ro") in mounts(service)
            assert (tmp_path / Path(file).relative_to(folder)).is_file()


@both
def test_the_services_start_with_what_the_first_start_made(path: Path, tmp_path: Path) -> None:
    """The settings are those that `web` sees: the generated secrets, and the host names in this very file."""
    roles = by_role(path)
    _make_secrets(roles["secrets"], tmp_path)
    folder = mounts(roles["secrets"])[0][1]
    given = {key: value.replace(folder, str(tmp_path)) for key, value in environment(roles["web"]).items() if value}
    program = (
        "import json; from memos_site import settings as s; d = s.DATABASES['default'];"
        "database = [d[name] for name in ('HOST', 'USER', 'NAME', 'PASSWORD')];"
        "print(json.dumps([*database, s.REDIS_URL, s.SECRET_KEY, s.ALLOWED_HOSTS]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "MEMOS_DATA_DIR": str(tmp_path / "data"), **given},
    )
    host, user, database, password, redis_url, secret_key, hosts = json.loads(done.stdout)
    names = {role(name): name for name in services(path)}
    postgres = environment(roles["postgres"])
    assert (host, user, database) == (names["postgres"], postgres["POSTGRES_USER"], postgres["POSTGRES_DB"])
    assert redis_url == f"redis://{names['redis']}:6379/0"
    assert secret_key == (tmp_path / "secret_key").read_text()
    assert password == (tmp_path / "postgres_password").read_text()
    assert {"127.0.0.1", names["web"]} <= set(hosts)


@both
def test_who_waits_for_whom(path: Path) -> None:
    listed = services(path)
    waits = {name: service.get("depends_on", {}) for name, service in listed.items()}
    for name, others in waits.items():
        for other, how in others.items():
            wanted = "service_completed_successfully" if role(other) in ONE_SHOT else "service_healthy"
            assert how["condition"] == wanted, f"{name} waits for {other}"
            if wanted == "service_healthy":
                assert listed[other]["healthcheck"]["test"], f"{other} has no health check"
    assert {role(n): {role(o) for o in others} for n, others in waits.items()} == {
        "secrets": set(),
        "postgres": {"secrets"},
        "redis": set(),
        "migrate": {"secrets", "postgres", "redis"},
        **{name: {"postgres", "redis", "migrate"} for name in ("web", *WORKERS)},
    }
    assert list(graphlib.TopologicalSorter({n: set(others) for n, others in waits.items()}).static_order())


@both
def test_what_ends_is_not_restarted_and_the_rest_is(path: Path) -> None:
    for name, service in by_role(path).items():
        assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")
        if name in ONE_SHOT:
            assert service["healthcheck"] == {"disable": True}
        else:
            assert service["healthcheck"]["test"]


@both
def test_health_checks_ask_for_what_exists(path: Path) -> None:
    from deploy import healthcheck

    django.setup()
    assert resolve(healthcheck.READY_PATH)
    roles = by_role(path)
    for name in ("web", *WORKERS):
        kind = name.partition("-")[0]
        assert roles[name]["healthcheck"]["test"] == ["CMD", "python", "-m", "deploy.healthcheck", kind]
        assert callable(getattr(healthcheck, f"check_{kind}"))
    probe = roles["postgres"]["healthcheck"]["test"][1]
    # By the socket it would be healthy while the first start is still creating the database.
    assert "-h 127.0.0.1" in probe
    assert set(re.findall(r"\$(\w+)", probe)) <= environment(roles["postgres"]).keys()


@both
def test_commands_exist(path: Path) -> None:
    roles = by_role(path)
    for service in roles.values():
        command = as_list(service["command"])
        if command[:2] == ["python", "manage.py"]:
            assert is_command(command[2]), command[2]
        elif command[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(command[2]), command[2]
        else:
            assert command[0] in ("postgres", "redis-server")


def is_command(name: str) -> bool:
    packages = [*settings.INSTALLED_APPS, "django.core"]
    return any(
        importlib.util.find_spec(f"{package}.management.commands.{name}")
        for package in packages
        if importlib.util.find_spec(f"{package}.management")
        and importlib.util.find_spec(f"{package}.management.commands")
    )


@both
def test_only_the_web_server_is_published_and_on_this_machine_only(path: Path) -> None:
    published = {name: service["ports"] for name, service in by_role(path).items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}
    moved = load(path, {"MEMOS_BIND": "0.0.0.0", "MEMOS_PORT": "9000"})["services"]
    assert [service["ports"] for service in moved.values() if "ports" in service] == [["0.0.0.0:9000:8000"]]


@both
def test_the_stores_are_on_a_network_without_a_way_out(path: Path) -> None:
    networks, roles = load(path)["networks"], by_role(path)
    inside = {name for name, network in networks.items() if (network or {}).get("internal")}
    assert len(inside) == 1
    for name in ("postgres", "redis"):
        assert set(roles[name]["networks"]) == inside
    for name in MEMOS:
        assert set(roles[name]["networks"]) == set(networks)
    assert roles["secrets"]["network_mode"] == "none"


@both
def test_no_log_grows_for_ever(path: Path) -> None:
    for name, service in services(path).items():
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "20m", "max-file": "3"}}, name


@both
def test_postgres_keeps_its_data_where_its_version_does(path: Path) -> None:
    postgres = by_role(path)["postgres"]
    major = int(re.fullmatch(r"pgvector/pgvector:[0-9.]+-pg(\d+)-\w+", postgres["image"])[1])
    assert major >= 18, "before 18 the data is in /var/lib/postgresql/data"
    assert "/var/lib/postgresql" in [target for _, target, _ in mounts(postgres)]


@both
def test_the_stores_are_tuned_like_the_embedded_ones(path: Path) -> None:
    roles = by_role(path)
    given = dict(part.removeprefix("-c").split("=", 1) for part in roles["postgres"]["command"][1:])
    embedded = {k: v for k, v in POSTGRES_OPTIONS.items() if k not in OF_THE_EMBEDDED_ONE}
    # The operator chooses a container's size, so each gets at most as much as the embedded server.
    assert given == {**embedded, "shared_buffers": f"{MOST_BUFFERS}MB"}
    redis = as_list(roles["redis"]["command"])
    assert dict(zip(redis[1::2], redis[2::2], strict=True)) == {
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory": "256mb",
        "--maxmemory-policy": "volatile-lru",
        "--protected-mode": "no",
    }


@both
def test_images_are_pinned_and_ours_is_of_this_version(path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name, service in by_role(path).items():
        repository, _, tag = service["image"].partition(":")
        assert tag not in ("", "latest")
        if name not in ("postgres", "redis"):
            assert (repository, tag) == ("memos", version)


@both
def test_memos_runs_without_privileges(path: Path) -> None:
    for name, service in by_role(path).items():
        if name in MEMOS:
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert "user" not in service, "the image's own user"
            assert service["read_only"] is True
            [temporary] = service["tmpfs"]
            assert temporary.startswith("/tmp:")
        assert "privileged" not in service


@both
def test_a_worker_is_given_the_time_that_a_job_may_take(path: Path) -> None:
    for name in WORKERS:
        grace = by_role(path)[name]["stop_grace_period"]
        assert int(grace.removesuffix("s")) > int(DECLARED["MEMOS_JOB_TIMEOUT_SECONDS"].default)


@both
def test_each_cluster_of_workers_has_a_container(path: Path) -> None:
    commands = {name: service["command"] for name, service in by_role(path).items() if name in WORKERS}
    assert commands == {name: [*WORKER, cluster] for name, cluster in WORKERS.items()}


@both
def test_each_service_has_limits_within_two_processors_that_are_explained(path: Path) -> None:
    """Docker refuses more processors than the machine has, so the defaults are for two."""
    limits = ("mem_limit", "cpus")
    for name, service in by_role(path).items():
        assert set(limits) <= service.keys(), name
        assert float(service["cpus"]) <= 2
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    said = [before for before, line in pairwise(lines) if line.startswith("mem_limit")]
    assert len(said) == len(ROLES)
    assert all(line.startswith("# ") for line in said)


def test_the_files_differ_in_nothing_that_memos_sees() -> None:
    """The files describe the same deployment; only service names, data folders and the build differ."""
    hosts = re.compile(r"\bmemos-(?=redis|web)")
    for name in MEMOS:
        one, other = by_role(MAIN)[name], by_role(PANEL)[name]
        panel = {key: value and hosts.sub("", value) for key, value in environment(other).items()}
        assert environment(one) == panel
        for part in ("command", "healthcheck", "mem_limit", "cpus"):
            assert one[part] == other[part]


def test_main_builds_the_image_once_before_anything_runs_it() -> None:
    roles = by_role(MAIN)
    assert [name for name, service in roles.items() if "build" in service] == ["secrets"]
    build = roles["secrets"]["build"]
    assert (ROOT / build["context"]).resolve() == ROOT
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    assert set(build["args"]) == set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert roles["secrets"]["pull_policy"] == "build"
    assert {roles[name]["pull_policy"] for name in MEMOS} == {"never"}
    assert {name for name in build["args"] if name.startswith("WITH_")} == {*EXTRAS, "WITH_RELOAD"}


def test_main_declares_the_volumes_and_networks_it_uses() -> None:
    whole = load(MAIN)
    used = {source for service in services(MAIN).values() for source, _, _ in mounts(service)}
    assert used == set(whole["volumes"])
    assert networks_used(MAIN) == set(whole["networks"])
    kept = {role: {source for source, _, mode in mounts(s) if mode == "rw"} for role, s in by_role(MAIN).items()}
    assert (kept["postgres"], kept["redis"], kept["web"]) == ({"postgres"}, {"redis"}, {"backups", "activation"})


def test_the_file_for_developing_runs_the_code_of_the_checkout_and_watches_it() -> None:
    main, over = by_role(MAIN), by_role(DEV)
    assert over.keys() == {"secrets", *MEMOS}
    for name in {"web", *WORKERS}:
        *start, command = over[name]["command"][:4]
        folders = over[name]["command"][4:]
        assert (start, command.split()) == (["watchfiles", "--sigint-timeout", "30"], main[name]["command"])
        mounted = {source: target for source, target, mode in mounts(over[name]) if mode == "ro"}
        assert folders
        for folder in folders:
            assert (ROOT / folder).is_dir()
            assert mounted[f"./{folder}"] == f"/opt/memos/app/{folder}"
    assert over["secrets"]["build"]["args"] == {"WITH_RELOAD": "1"}


def test_1panel_rules() -> None:
    whole = load(PANEL)
    assert whole["networks"]["1panel-network"] == {"external": True}
    assert "volumes" not in whole
    for name, service in services(PANEL).items():
        assert "build" not in service
        assert service["labels"] == {"createdBy": "Apps"}
        # A service's name is a host name on 1panel-network, where there are other apps too.
        assert name.startswith("memos-")
        for source, _, _ in mounts(service):
            assert source.startswith("/data/MemOS/")
    assert networks_used(PANEL) == set(whole["networks"])


def test_1panel_runs_the_image_that_its_script_builds() -> None:
    script = (ROOT / "deploy/build-image.sh").read_text(encoding="utf-8")
    assert '--tag "memos:$version"' in script
    assert "-f docker-compose.1panel.yml" in script
    assert "deploy/build-image.sh" in PANEL.read_text(encoding="utf-8")
    images = {s["image"] for s in load(PANEL, {"MEMOS_VERSION": "9.9"})["services"].values()}
    assert "memos:9.9" in images


def _make_secrets(service: dict[str, Any], folder: Path) -> None:
    """Run the command of the service `secrets` on `folder` as this user."""
    *command, target, owner = service["command"]
    assert target == mounts(service)[0][1]
    assert re.search(rf"\buseradd .* {owner}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    given = {key: value for key, value in environment(service).items() if value}
    subprocess.run([sys.executable, *command[1:], str(folder)], check=True, cwd=ROOT, env=given)
