"""Everything declared is documented: settings, routes, commands, migrations."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands

from memory.api.urls import urlpatterns
from memos_site.settings import env

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
API = (REFERENCE / "api.md").read_text(encoding="utf-8")
COMMANDS = (REFERENCE / "commands.md").read_text(encoding="utf-8")


def test_the_reference_and_the_example_environment_say_what_the_settings_declare():
    call_command("config_docs", "--check")


def test_every_setting_is_declared_once():
    names = [setting.name for setting in env.declared]

    assert len(names) == len(set(names)) > 30
    assert all(setting.help.endswith((".", "?", "`")) for setting in env.declared)


# A variable part of a path is written as in the OpenAPI document: {name}.
ROUTES = [re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{pattern.pattern}") for pattern in urlpatterns]


@pytest.mark.parametrize("route", [route for route in ROUTES if "openapi" not in route])
def test_every_route_is_in_the_reference(route):
    # A variable part of a path is written as in the schema: {run_id}.
    assert re.sub(r"<\w+:(\w+)>", r"{\1}", route) in API


@pytest.mark.parametrize(
    "command", sorted(name for name, app in get_commands().items() if app in ("memory", "memos_site"))
)
def test_every_command_is_in_the_reference(command):
    assert re.search(rf"^\| `{command}\b", COMMANDS, re.MULTILINE)


def test_no_product_is_named_that_is_not_used(client, db):
    """The labels of the contract occur in answers and in one place of the code, but not in texts for people."""
    root = Path(__file__).resolve().parents[2]
    written = [*root.glob("templates/**/*.html"), *root.glob("ops/**/*.py"), *root.glob("memory/**/*.py")]
    # The comparison page may name products that other projects need.
    written += [page for page in root.glob("docs/**/*.md") if not page.name.startswith("compare.")]
    written += root.glob("locale/**/*.po")
    named = re.compile(r"neo4j|vector db", re.IGNORECASE)
    found = {path.relative_to(root).as_posix() for path in written if named.search(path.read_text(encoding="utf-8"))}

    assert found == {"memory/enums.py", "memory/migrations/0002_tables.py"}
    assert not named.search(client.get("/openapi.json").content.decode())


def test_no_migration_is_missing(db):
    out = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out)

    assert "No changes detected" in out.getvalue()
