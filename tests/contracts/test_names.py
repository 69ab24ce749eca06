"""CONTRIBUTING.md, "Names": functions are imperative verbs, and none has a past participle as its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("memory", "ops", "memos_site", "bench", "tools", "deploy")

# Participles that are no imperatives, unlike "set" and "read".
IRREGULAR = {
    "begun", "bound", "bought", "broken", "brought", "built", "caught", "chosen", "dealt", "done", "drawn", "fallen",
    "felt", "forgotten", "found", "frozen", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known",
    "laid", "led", "left", "lent", "lost", "made", "meant", "met", "paid", "rebuilt", "resent", "said", "seen", "sent",
    "shown", "sold", "sought", "spent", "spoken", "stood", "stolen", "struck", "stuck", "taken", "taught", "thought",
    "thrown", "told", "torn", "understood", "withheld", "won", "written",
}  # fmt: skip
# Imperative verbs that end like a participle.
VERBS = {"embed", "feed", "proceed", "reembed", "seed"}
# Django's admin calls these by name.
OF_THE_FRAMEWORK = {"expected_parameters"}
# A property is a value. The admin shows a column, and a template uses a filter or tag, under the name of its function.
VALUES = {"property", "cached_property", "setter", "display", "filter", "simple_tag", "inclusion_tag"}
# `rows.failed()` narrows the rows.
ADJECTIVES_OF = ("QuerySet", "Manager")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def list_participles(source: str) -> list[str]:
    """Return the functions of a module that are named by a past participle alone or with words after it."""
    return [node.name for node, owner in _functions(ast.parse(source), "") if _is_wrong(node, owner)]


def _functions(parent: ast.AST, owner: str) -> Iterator[tuple[Function, str]]:
    """Yield each function with the name of its class."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, Function):
            yield node, owner
        yield from _functions(
            node, node.name if isinstance(node, ast.ClassDef) else "" if isinstance(node, Function) else owner
        )


def _is_wrong(node: Function, owner: str) -> bool:
    first = node.name.strip("_").partition("_")[0]
    if first in VERBS or not (first in IRREGULAR or first.endswith("ed")):
        return False
    decorators = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    is_value = any(ast.unparse(one).rpartition(".")[2] in VALUES for one in decorators)
    return not (is_value or owner.endswith(ADJECTIVES_OF) or node.name in OF_THE_FRAMEWORK)


def test_a_participle_is_found_wherever_it_names_a_function():
    source = """
def checked(): ...
def _joined(parts): ...
def told_by_turns(): ...
async def _kept(path): ...

class Writer:
    def written(self): ...
    def write(self):
        @wraps(self)
        def guarded(): ...

class FactQuerySet(QuerySet):
    @classmethod
    def active(cls):
        def narrowed(): ...
"""

    assert list_participles(source) == [
        "checked", "_joined", "told_by_turns", "_kept", "written", "guarded", "narrowed",
    ]  # fmt: skip


def test_verbs_values_and_narrowed_rows_are_none():
    source = """
def embed(): ...
def seed_session(): ...
def read_names(): ...
def set_up(): ...
def find_hidden(): ...
def is_quoted(): ...

class JobQuerySet(models.QuerySet):
    def failed(self): ...

class Tokens:
    @property
    def saved(self): ...
    @cached_property
    def _wanted(self): ...
    @admin.display(description="text")
    def shown_text(self): ...

@register.filter
def signed(value): ...
@register.simple_tag(takes_context=True)
def typed(context): ...
"""

    assert list_participles(source) == []


def test_no_function_is_named_by_a_past_participle():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts]
    named = {str(path.relative_to(ROOT)): list_participles(path.read_text("utf-8")) for path in paths}

    assert len(paths) > 500
    assert {path: names for path, names in named.items() if names} == {}
