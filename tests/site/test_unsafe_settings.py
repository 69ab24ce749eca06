"""Settings that are unsafe together are refused at start, with an id and a remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import Error

from memory.checks import check_contradictions, check_unsafe_together

ROOT = Path(__file__).resolve().parents[2]
GOOD = "kq7-w0Zx_2mB8vTn5yLr3cPs9dFh6gJa"
HTTPS = {"MEMOS_HTTPS": True}
PUBLIC = {"MEMOS_HOST": "0.0.0.0"}

REFUSED = {
    "memos.E002": [{"MEMOS_CORS_ORIGINS": ["*"]}, {"MEMOS_CORS_ORIGINS": ["https://a.example", "null"]}],
    "memos.E003": [HTTPS | {"CSRF_TRUSTED_ORIGINS": ["http://memos.example.com"]}],
    "memos.E004": [HTTPS | {"DEBUG": True}, PUBLIC | {"DEBUG": True}, {"MEMOS_HOST": "192.0.2.4", "DEBUG": True}],
    "memos.E005": [HTTPS | {"MEMOS_ANONYMOUS": True}, PUBLIC | {"MEMOS_ANONYMOUS": True}],
    "memos.E006": [
        PUBLIC | {"SECRET_KEY": "x" * 31},
        HTTPS | {"SECRET_KEY": "change-me-please-0123456789-0123456789"},
        HTTPS | {"SECRET_KEY": "django-insecure-0123456789-0123456789"},
    ],
    "memos.E007": [PUBLIC | {"ALLOWED_HOSTS": ["*", "localhost"]}],
    "memos.E008": [PUBLIC | {"MEMOS_ADMIN_PASSWORD": "admin"}, HTTPS | {"MEMOS_ADMIN_PASSWORD": "password12345"}],
}
FINE = [
    {},
    {"DEBUG": True, "MEMOS_ANONYMOUS": True, "SECRET_KEY": "x", "ALLOWED_HOSTS": ["*"], "MEMOS_ADMIN_PASSWORD": "a"},
    {"MEMOS_HOST": "::1", "DEBUG": True},
    {"MEMOS_HOST": "localhost", "DEBUG": True},
    HTTPS | {"CSRF_TRUSTED_ORIGINS": ["https://memos.example.com"], "ALLOWED_HOSTS": ["memos.example.com"]},
    PUBLIC | {"MEMOS_CORS_ORIGINS": ["http://localhost:3000"], "MEMOS_ADMIN_PASSWORD": "a long good phrase"},
    HTTPS | {"MEMOS_PROXIES": 1},
]


@pytest.fixture(autouse=True)
def _safe(settings):
    for name, value in {
        "DEBUG": False, "MEMOS_ANONYMOUS": False, "MEMOS_HTTPS": False, "MEMOS_HOST": "127.0.0.1", "SECRET_KEY": GOOD,
        "ALLOWED_HOSTS": ["localhost"], "CSRF_TRUSTED_ORIGINS": [], "MEMOS_CORS_ORIGINS": [],
        "MEMOS_ADMIN_PASSWORD": "", "MEMOS_PROXIES": 0,
    }.items():  # fmt: skip
        setattr(settings, name, value)


@pytest.mark.parametrize(
    ("expected", "values"), [(name, values) for name, every in REFUSED.items() for values in every]
)
def test_it_is_refused(settings, expected, values):
    for name, value in values.items():
        setattr(settings, name, value)
    [found] = check_unsafe_together(None)
    assert isinstance(found, Error)
    assert (found.id, bool(found.hint)) == (expected, True)
    assert settings.SECRET_KEY not in f"{found.msg} {found.hint}"


@pytest.mark.parametrize("values", FINE)
def test_what_is_safe_is_not_refused(settings, values):
    for name, value in values.items():
        setattr(settings, name, value)
    assert check_unsafe_together(None) == []


def test_a_proxy_without_https_is_named(settings):
    settings.MEMOS_HOST, settings.MEMOS_PROXIES = "0.0.0.0", 1
    assert [one.id for one in check_unsafe_together(None)] == ["memos.W004"]


@pytest.mark.parametrize(
    ("expected", "says", "values"),
    [
        (
            "memos.E010",
            "MEMOS_LLM_TIMEOUT_SECONDS=31 must be at most half of MEMOS_JOB_TIMEOUT_SECONDS=60",
            {"MEMOS_LLM_ENABLED": True, "MEMOS_LLM_TIMEOUT_SECONDS": 31.0, "MEMOS_JOB_TIMEOUT_SECONDS": 60},
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, expected, says, values):
    assert check_contradictions(None) == []
    for name, value in values.items():
        setattr(settings, name, value)
    [found] = check_contradictions(None)
    assert (found.id, bool(found.hint)) == (expected, True)
    assert says in found.msg


def test_a_timeout_of_a_language_model_that_is_off_contradicts_nothing(settings):
    settings.MEMOS_LLM_ENABLED, settings.MEMOS_LLM_TIMEOUT_SECONDS = False, 10_000.0
    assert check_contradictions(None) == []


def test_each_value_of_the_policy_that_contradicts_another_is_named(settings):
    wrong = {"ttl_days": 1, "working_memory.hours": 100, "gate.strict": True, "gate.worth_threshold": 0.0}
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, **wrong}
    found = check_contradictions(None)
    assert {one.id for one in found} == {"memos.E011"}
    assert [" ".join(one.msg.split()[:2]) for one in found] == [
        "MEMOS_POLICY: gate.worth_threshold",
        "MEMOS_POLICY: ttl_days",
    ]


def start(folder: Path, command: list[str], **wrong: str) -> subprocess.CompletedProcess[str]:
    """Run a process with safe settings except the `wrong` ones."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    given = {"MEMOS_SECRET_KEY": GOOD, "MEMOS_DATA_DIR": str(folder), "DATABASE_URL": "postgresql://n@localhost/n",
             "REDIS_URL": "redis://localhost:1/0", "MEMOS_HOST": "0.0.0.0"}  # fmt: skip
    return subprocess.run(
        [sys.executable, *command], env=kept | given | wrong, cwd=ROOT, capture_output=True, text=True, check=False
    )


COMMAND, SERVER = ["manage.py", "check"], ["-c", "import memos_site.wsgi"]


@pytest.mark.parametrize(
    ("command", "wrong", "said"),
    [
        (
            SERVER,
            {"MEMOS_HOST": "0.0.0.0", "MEMOS_DEBUG": "1", "MEMOS_POLICY": "ttl_days=1,working_memory.hours=99"},
            ["memos.E004", "Unset MEMOS_DEBUG", "memos.E011", "Change it"],
        ),
        (
            COMMAND,
            {"MEMOS_LLM_ENABLED": "1", "MEMOS_LLM_TIMEOUT_SECONDS": "40"},
            ["memos.E010", "Lower the first"],
        ),
        (
            COMMAND,
            {"MEMOS_POLICY_GATE_PERSONAL_DATA": "redact", "MEMOS_WEBHOOK_THREADS": "0"},
            [
                "MEMOS_POLICY_GATE_PERSONAL_DATA is no longer a setting: the values of the policy are in MEMOS_POLICY.",
                "Write gate.personal_data=… into MEMOS_POLICY",
                "MEMOS_WEBHOOK_THREADS is no longer a setting: MEMOS_WEBHOOK_WORKERS has taken its place.",
                "Unset MEMOS_WEBHOOK_THREADS",
            ],
        ),
    ],
)
def test_nothing_starts_with_it(tmp_path, command, wrong, said):
    done = start(tmp_path, command, **wrong)
    assert done.returncode != 0
    assert [part for part in said if part not in done.stderr] == []


@pytest.mark.parametrize("command", [COMMAND, SERVER])
def test_it_starts_with_safe_settings_and_names_those_of_a_former_version(tmp_path, command):
    done = start(tmp_path, command, MEMOS_TOKENIZER="o200k_base", DATABASE_REPLICA_URL="postgresql://n@localhost/n")
    assert done.returncode == 0, done.stderr
    assert "MEMOS_TOKENIZER is no longer a setting: its value is fixed." in done.stderr
    assert "DATABASE_REPLICA_URL is no longer a setting: no replica is read from." in done.stderr
