"""MemOS never unpickles files or messages, because unpickling executes what someone else wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("memory", "ops", "memos_site", "bench", "tools", "deploy", "sdk")
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# Calls such as `torch.load` and `numpy.load(allow_pickle=True)`.
CALLS = {("torch", "load"), ("torch", "save")}


def list_unpickling(source: str) -> Iterator[str]:
    """Yield the names in a module that read or write pickles."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in CALLS:
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield "allow_pickle"


def test_nothing_is_unpickled():
    found = {
        str(path.relative_to(ROOT)): faults
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "node_modules" not in path.parts and (faults := list(list_unpickling(path.read_text("utf-8"))))
    }
    assert found == {}


def test_what_unpickles_is_found():
    source = "import pickle\nfrom dill import loads\nx = torch.load(f)\ny = numpy.load(f, allow_pickle=True)"
    assert set(list_unpickling(source)) == {"pickle", "dill", "torch.load", "allow_pickle"}
