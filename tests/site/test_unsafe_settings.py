"""Settings that are unsafe together are refused at start, with an id and how to mend it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import Error

from memory.checks import check_unsafe_together

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


@pytest.mark.parametrize("command", [["manage.py", "check"], ["-c", "import memos_site.wsgi"]])
def test_nothing_starts_with_it(tmp_path, command):
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    given = {"MEMOS_SECRET_KEY": GOOD, "MEMOS_DATA_DIR": str(tmp_path), "DATABASE_URL": "postgresql://n@localhost/n",
             "REDIS_URL": "redis://localhost:1/0", "MEMOS_HOST": "0.0.0.0", "MEMOS_DEBUG": "1"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command], env=kept | given, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "memos.E004" in done.stderr
    assert "Unset MEMOS_DEBUG" in done.stderr
    given.pop("MEMOS_DEBUG")
    done = subprocess.run(
        [sys.executable, *command], env=kept | given, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
