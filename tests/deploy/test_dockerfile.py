"""The Dockerfile copies files that exist and reach the builder, and everything that the server needs."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from pathlib import PurePosixPath

from tests.deploy.compose import MAIN, ROOT, services

if not os.environ.get("MEMOS_SECRET_KEY_FILE"):
    os.environ.setdefault("MEMOS_SECRET_KEY", "only-for-tests")

from memos_site import settings


def instructions() -> list[tuple[str, str]]:
    """Return (instruction, arguments) of the Dockerfile, with continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for instruction, arguments in instructions():
        if instruction == "FROM":
            found.append([])
        found[-1].append((instruction, arguments))
    return found


def copied() -> list[str]:
    """Return the sources in the build context."""
    sources = []
    for instruction, arguments in instructions():
        assert instruction != "ADD"
        words = arguments.split()
        if instruction == "COPY" and not any(word.startswith("--from=") for word in words):
            sources += [word for word in words[:-1] if not word.startswith("--")]
    return sources


def environment() -> dict[str, str]:
    """Return the environment variables of the final stage."""
    return dict(pair.split("=", 1) for name, text in stages()[-1] if name == "ENV" for pair in text.split())


def ignored(path: str) -> bool:
    """Return whether .dockerignore hides `path`: the last rule that matches it or a parent folder decides."""
    verdict = False
    above = [str(parent) for parent in PurePosixPath(path).parents if str(parent) != "."]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        rule = line.strip()
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.removeprefix("!").rstrip("/")
        candidates = [path, *above]
        anywhere = pattern.removeprefix("**/")
        if any(
            fnmatch.fnmatchcase(candidate, pattern)
            or (anywhere != pattern and fnmatch.fnmatchcase(PurePosixPath(candidate).name, anywhere))
            for candidate in candidates
        ):
            verdict = not rule.startswith("!")
    return verdict


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    assert copied()
    for source in copied():
        assert (ROOT / source).exists(), source
        assert not ignored(source), source


def test_each_extra_of_the_image_has_its_file() -> None:
    given = {arguments.split("=")[0] for instruction, arguments in instructions() if instruction == "ARG"}
    [loop] = [arguments for instruction, arguments in instructions() if arguments.startswith("for extra in")]
    extras = dict(re.findall(r"(\w+)=\$(WITH_\w+)", loop))
    assert set(extras.values()) == given - {"PIP_INDEX_URL"}
    assert {f"requirements-{name}.txt" for name in extras} <= set(copied())


def test_nothing_private_reaches_the_builder() -> None:
    private = [".env", ".git/config", "data/secret_key", ".venv/bin/python", "deploy/.env", "memory/__pycache__/a.pyc"]
    for path in private:
        assert ignored(path), path


def test_every_app_and_template_folder_is_copied() -> None:
    ours = {app.split(".")[0] for app in settings.INSTALLED_APPS if (ROOT / app.split(".")[0]).is_dir()}
    folders = {str(folder.relative_to(ROOT)) for folder in settings.TEMPLATES[0]["DIRS"]}
    always = {"memos_site", "deploy", "manage.py", "pyproject.toml", "requirements.txt", "requirements-model.txt"}
    assert ours | folders | always <= set(copied())


def test_what_is_taken_from_the_build_stage_is_made_there() -> None:
    first, last = stages()
    built = " ".join(arguments for _, arguments in first)
    for instruction, arguments in last:
        if instruction == "COPY":
            *options, source, target = arguments.split()
            assert "--from=build" in options
            assert source == target
            assert source in built


def test_paths_of_the_image_agree() -> None:
    given = environment()
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"MiniLMEmbedding(DEFAULT_MODEL, model_dir=Path('{given['MEMOS_MODEL_DIR']}')" in text
    assert f"MEMOS_DATA_DIR={given['MEMOS_DATA_DIR']} python manage.py collectstatic" in text
    assert given["MEMOS_HOST"] == "0.0.0.0"
    assert ("EXPOSE", given["MEMOS_PORT"]) in stages()[-1]
    assert services(MAIN)["web"]["ports"][0].endswith(f":{given['MEMOS_PORT']}")
    # A mount at this path would hide the image's static files.
    targets = [mount.split(":")[1] for service in services(MAIN).values() for mount in service.get("volumes", [])]
    assert not [target for target in targets if given["MEMOS_DATA_DIR"].startswith(target)]


def test_every_variable_of_the_image_is_a_setting() -> None:
    declared = {setting.name for setting in settings.env.declared}
    assert {name for name in environment() if name.startswith("MEMOS_")} <= declared


def test_no_secret_stays_in_the_image() -> None:
    for instruction, arguments in instructions():
        if instruction in ("ENV", "ARG"):
            assert not re.search(r"SECRET|PASSWORD|API_KEY|DATABASE_URL", arguments)


def test_it_runs_as_a_user_without_rights() -> None:
    last = stages()[-1]
    position = [instruction for instruction, _ in last].index("USER")
    assert last[position] == ("USER", "memos")
    assert not [arguments for instruction, arguments in last[position:] if instruction in ("RUN", "COPY")]
    assert ("STOPSIGNAL", "SIGTERM") in last


def test_the_image_runs_and_checks_the_web_server() -> None:
    commands = dict(stages()[-1])
    web = services(MAIN)["web"]
    assert json.loads(commands["CMD"]) == web["command"]
    assert ["CMD", *json.loads(commands["HEALTHCHECK"].split("CMD ")[1])] == web["healthcheck"]["test"]
