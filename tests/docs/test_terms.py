"""docs/develop/terms.md: modules are named by its terms, or are listed there as exceptions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "develop" / "terms.md").read_text("utf-8")


def unwanted() -> set[str]:
    """Return the single words in the column "not"."""
    cells = [line.split("|")[3] for line in PAGE.splitlines() if line.startswith("| **")]
    listed = [word.strip() for cell in cells for word in re.sub(r"\([^)]*\)", "", cell).split(",")]
    return {word for word in listed if word and " " not in word}


def modules() -> list[Path]:
    found = [path for top in ("memory", "ops", "memos_site") for path in (ROOT / top).rglob("*.py")]
    return sorted(path.relative_to(ROOT) for path in found if "migrations" not in path.parts)


def test_modules_are_named_by_the_terms_and_what_is_not_is_listed():
    wrong = {word for one in unwanted() for word in (one, f"{one}s")}
    named = {str(path) for path in modules() if wrong & set(re.split(r"[_/]", str(path.with_suffix(""))))}

    assert {"settle", "handover", "deed"} <= unwanted()
    assert set(re.findall(r"`((?:memory|ops|memos_site)/[\w/]+\.py)`", PAGE)) == named


# Django looks for these names itself.
OF_THE_FRAMEWORK = {"Meta", "Command"}


def test_a_class_name_stands_for_one_thing():
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        if path.parts[0] == "memos_site":
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    shared = {name: found for name, found in places.items() if len(found) > 1 and name not in OF_THE_FRAMEWORK}

    assert len(places) > 500
    assert shared == {}
