"""pyproject.toml has the version; everything else reads it or agrees with it (images: tests/deploy/test_compose.py)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from django.conf import settings
from django.test import Client

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def test_the_schema_has_the_version():
    answer = Client().get("/openapi.json")

    assert settings.SPECTACULAR_SETTINGS["VERSION"] == VERSION
    assert answer.json()["info"]["version"] == VERSION


def test_the_newest_release_of_the_changelog_is_this_version_and_can_be_read_in_two_minutes():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.split(r"^(?=## \[)", text, flags=re.MULTILINE)[1:]

    assert releases[0].startswith("## [Unreleased]")
    assert re.match(rf"## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d\n\n### Upgrading", releases[1])
    assert len([line for line in releases[1].splitlines() if line]) <= 60
