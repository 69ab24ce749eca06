"""Commands on the pages exist, with the options on the pages."""

from __future__ import annotations

import re
import shlex

import pytest
from django.core.management import CommandError, get_commands, load_command_class
from django.core.management.base import BaseCommand

from tests.docs.pages import ROOT, name_of, pages

_COMMAND = re.compile(r"manage\.py ([a-z_]+)\b([^`\n]*)")
# Marks omitted parts of an example.
LEFT_OUT = "…"


def shown() -> list[tuple[str, str, str]]:
    """Return (page, command, the rest of its line) of every `manage.py …` in code."""
    found = []
    for page in pages():
        text = re.sub(r"\\\n\s*", " ", page.read_text("utf-8"))
        found += [(name_of(page), name, rest.split("  ")[0].rstrip()) for name, rest in _COMMAND.findall(text)]
    return found


def command(name: str) -> BaseCommand:
    app = get_commands().get(name)
    assert app is not None, f"there is no command {name}"
    return app if isinstance(app, BaseCommand) else load_command_class(app, name)


@pytest.mark.parametrize(("place", "name", "rest"), sorted(set(shown())))
def test_the_command_takes_what_is_shown(place: str, name: str, rest: str):
    parser = command(name).create_parser("manage.py", name)
    given = shlex.split(rest.replace("'", "") if rest.count("'") % 2 else rest, comments=True)

    if LEFT_OUT in rest:
        options = {option for action in parser._actions for option in action.option_strings}
        assert {word for word in given if word.startswith("--")} <= options
    elif given:
        try:
            parser.parse_args(given)
        except (CommandError, SystemExit) as error:
            pytest.fail(f"{place}: manage.py {name} {rest}: {error}")


def test_every_target_of_make_that_is_shown_is_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in pages():
        named = re.findall(r"(?:^|`|=\S* )make ([a-z-]+)\b", page.read_text("utf-8"), re.MULTILINE)
        assert set(named) <= targets, name_of(page)


def test_every_script_that_is_shown_is_there():
    for page in pages():
        for path in re.findall(r"(?<![/\w])((?:bench|tools|deploy)/[\w/-]+\.(?:py|sh))\b", page.read_text("utf-8")):
            assert (ROOT / path).exists(), (name_of(page), path)
