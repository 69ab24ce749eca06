"""Settings with which MemOS refuses to start. Each case is a separate process, because settings are read once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOW = (
    "import memos_site.settings as s;"
    "print(s.MEMOS_PORT, s.SECRET_KEY, s.MEMOS_ANONYMOUS, s.DATABASES['default']['NAME'])"
)
SECRET = {"MEMOS_SECRET_KEY": "x" * 50}

CASES: dict[str, tuple[dict[str, str], str]] = {
    "no secret": ({}, "MEMOS_SECRET_KEY is not set: start with `make run`"),
    "anonymous": (SECRET | {"MEMOS_ANONYMOUS": "1"}, "MEMOS_ANONYMOUS=1 opens every memory to everyone and is refused"),
    "provider": (
        SECRET | {"MEMOS_EMBEDDING_PROVIDER": "word2vec"},
        "MEMOS_EMBEDDING_PROVIDER='word2vec' is not one of: minilm, openai, hash",
    ),
    "port": (SECRET | {"MEMOS_PORT": "0"}, "MEMOS_PORT=0 is outside 1..65535"),
    "policy": (SECRET | {"MEMOS_POLICY": "ttl_days=-1"}, "MEMOS_POLICY: ttl_days=-1 must be a whole number from 0"),
}
STARTS: dict[str, tuple[dict[str, str], str]] = {
    "anonymous in debug": (SECRET | {"MEMOS_ANONYMOUS": "1", "MEMOS_DEBUG": "1"}, f"8000 {'x' * 50} True memos"),
    "older port name": (SECRET | {"MEMOS_API_PORT": "9001"}, f"9001 {'x' * 50} False memos"),
    "database": (
        SECRET | {"DATABASE_URL": "postgresql://ann@db:5432/other"},
        f"8000 {'x' * 50} False other",
    ),
}


def start(folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**kept, "MEMOS_DATA_DIR": str(folder), **values},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "key").write_text("from-a-file\n", encoding="utf-8")
    cases = {name: values for name, (values, _) in (CASES | STARTS).items()}
    cases["secret file"] = {"MEMOS_SECRET_KEY_FILE": str(folder / "key")}
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda values: start(folder, values), cases.values())
    return dict(zip(cases, done, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_server_that_would_be_wrong_does_not_start_and_says_why(outcomes, case):
    assert outcomes[case].returncode != 0
    assert CASES[case][1] in outcomes[case].stderr.splitlines()[-1]


@pytest.mark.parametrize("case", STARTS)
def test_a_server_that_is_set_right_starts(outcomes, case):
    assert outcomes[case].stdout.strip() == STARTS[case][1], outcomes[case].stderr


def test_the_secret_key_may_be_a_file(outcomes):
    assert outcomes["secret file"].stdout.split()[1] == "from-a-file"


def test_the_settings_of_the_tests_are_those_of_a_server(settings):
    assert settings.MEMOS_ANONYMOUS is False
    assert settings.DEBUG is False
    assert settings.MEMOS_KEY_PEPPER != settings.SECRET_KEY
    assert settings.Q_CLUSTER["retry"] > settings.Q_CLUSTER["timeout"]
    assert settings.Q_CLUSTER["ack_failures"] is False
