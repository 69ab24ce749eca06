"""Draws the pictures of docs/develop/architecture.md from the code: the imports between packages of services, and the
modules that a request passes through.

    python tools/architecture.py

The code is parsed, not imported. A picture has an opaque background and only plain attributes, so that it looks the
same on light and dark pages, on GitHub, and under the content security policy of `/guide/`.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SERVICES = "memory.services"
PARTS = ("memory", "ops", "memos_site")
# The name of each route, and the functions to walk through in order, as `module:function`.
ROUTES = {
    "Write: POST /v1/ingest": (
        "memory.api.views.ingest:IngestViewSet.create",
        "memory.services.ingestion.ingest:ingest_batch",
    ),
    "Read: POST /v1/query": (
        "memory.api.views.query:QueryViewSet.create",
        "memory.services.recall.query:query",
    ),
    "Background: settling": ("memory.services.memories.tasks:help_settling",),
    "Background: a summary": (
        "memory.services.summaries.refresh:request_if_due",
        "memory.services.jobs.runner:work",
        "memory.services.summaries.tasks:condense_session",
    ),
}
# Functions that answer when there is nothing to read. They are not part of a route.
ASIDE = {("memory.services.recall.query", "answer_of_no_namespace")}
# Foundations that every step uses are not steps: tables, text processing, values, settings.
GROUND = ("models", "text", "types", "errors", "enums", "conf", "metrics", "deadline", "governance.policy")

INK, LINE, GROUND_COLOUR, BOX = "#0f172a", "#64748b", "#f1f5f9", "#ffffff"
BOX_WIDTH, BOX_HEIGHT, ROW, COLUMN = 104, 30, 62, 124
STEP_WIDTH, STEP_GAP, LINE_HEIGHT, MARGIN = 236, 16, 15, 20
STEP_CHARS = 36
# Width that an arrow passing a row takes, relative to a package.
PASSING = 0.4

Call = tuple[str, str]
Point = tuple[float, float]


class Module:
    """A file of the code: the targets of its imported names, its functions (`name`, or `Class.name` for a method), and
    the tuples of names that it defines (`tables`)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.imports: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.tables: dict[str, ast.AST] = {}
        tree = ast.parse(_file(name).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.imports |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Import):
                self.imports |= {one.asname: one.name for one in node.names if one.asname}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
                self.functions |= {f"{node.name}.{one.name}": one for one in methods}
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_table(node.value):
                self.tables[node.target.id] = node.value

    def body(self, name: str) -> Sequence[ast.AST]:
        """Return the body of a function, or the names in a table."""
        return [self.tables[name]] if name in self.tables else self.functions[name].body


def _is_table(value: ast.AST | None) -> TypeGuard[ast.Tuple]:
    """Return whether a value is a tuple of names, such as functions."""
    return isinstance(value, ast.Tuple) and all(isinstance(one, ast.Name | ast.Attribute) for one in value.elts)


def _file(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def module(name: str) -> Module:
    """Return the module. Raises FileNotFoundError if there is none."""
    return Module(name)


@cache
def _is_module(name: str) -> bool:
    return name.partition(".")[0] in PARTS and _file(name).is_file()


def service_imports() -> dict[str, set[str]]:
    """Return the packages of services, each with its imports among them."""
    folder = ROOT.joinpath(*SERVICES.split("."))
    found: dict[str, set[str]] = {part.name: set() for part in folder.iterdir() if (part / "__init__.py").is_file()}
    for package, imported in found.items():
        for file in sorted((folder / package).rglob("*.py")):
            names = module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")).imports
            parts = [name.split(".") for name in names.values() if name.startswith(f"{SERVICES}.")]
            imported |= {name[2] for name in parts if name[2] != package and name[2] in found}
    return found


def without_detours(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the arrows that no longer path replaces: the transitive reduction of an acyclic graph."""

    @cache
    def reach(start: str) -> set[str]:
        return {end for one in arrows[start] for end in ({one} | reach(one))}

    return {
        name: {one for one in ends if not any(one in reach(other) for other in ends)} for name, ends in arrows.items()
    }


def walk(start: str) -> list[str]:
    """List the modules of a call, in the order in which it first reaches them.

    Every branch is followed to functions of modules, tables of functions, and methods of `self`, whether they are
    called or passed by name. Calls on other objects are not followed.
    """
    order: dict[str, None] = {}
    seen = set(ASIDE)

    def visit(call: Call) -> None:
        if call in seen:
            return
        seen.add(call)
        order.setdefault(call[0])
        inside = module(call[0])
        of_class = call[1].rpartition(".")[0]
        for name in _names(inside.body(call[1])):
            if found := _resolve(inside, name, of_class):
                visit(found)

    name, _, function = start.partition(":")
    visit((name, function))
    return list(order)


def _names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield dotted names in order of evaluation: arguments come before the call."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _names([*node.args, *(one.value for one in node.keywords), node.func])
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            whole = _read_dotted_name(node)
            yield from [whole] if whole else _names([node.value])
        elif isinstance(node, ast.AnnAssign):
            yield from _names([node.value] if node.value else [])
        elif isinstance(node, ast.FunctionDef):
            yield from _names(node.body)
        else:
            yield from _names(list(ast.iter_child_nodes(node)))


def _read_dotted_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _read_dotted_name(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _resolve(inside: Module, name: str, of_class: str) -> Call | None:
    """Return the function or table that a name refers to. None stands for classes, values, and foreign names."""
    head, _, rest = name.partition(".")
    if head == "self":
        return _method(inside, of_class, rest.partition(".")[0])
    if name in inside.functions or name in inside.tables:
        return inside.name, name
    if head not in inside.imports:
        return None
    parts = ".".join(filter(None, (inside.imports[head], rest))).split(".")
    for end in range(len(parts) - 1, 0, -1):
        if _is_module(".".join(parts[:end])):
            other = module(".".join(parts[:end]))
            return _resolve(other, ".".join(parts[end:]), "")
    return None


def _method(inside: Module, of_class: str, name: str) -> Call | None:
    if f"{of_class}.{name}" in inside.functions:
        return inside.name, f"{of_class}.{name}"
    for base in inside.classes[of_class].bases if of_class in inside.classes else ():
        home, _, base_name = inside.imports.get(
            _read_dotted_name(base), f"{inside.name}.{_read_dotted_name(base)}"
        ).rpartition(".")
        if home and _is_module(home) and (found := _method(module(home), base_name, name)):
            return found
    return None


def routes() -> dict[str, list[tuple[str, list[str]]]]:
    """Return the steps of each route: a package, and its modules in order. A package that is a single file has none."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for title, starts in ROUTES.items():
        steps: list[tuple[str, list[str]]] = []
        for name in dict.fromkeys(name for start in starts for name in walk(start)):
            short = name.removeprefix("memory.")
            if any(short == ground or short.startswith(f"{ground}.") for ground in GROUND):
                continue
            # A package of services is one step; elsewhere deeper modules belong to the enclosing package.
            depth = 2 if short.startswith(("services.", "api.")) else 1
            parts = short.split(".")
            package, last = ".".join(parts[:depth]), "/".join(parts[depth:])
            if steps and steps[-1][0] == package:
                steps[-1][1].append(last)
            else:
                steps.append((package, [last]))
        found[title] = steps
    return found


def draw_packages() -> str:
    """Return the packages of services as SVG, each above the packages that it imports."""
    arrows = without_detours(service_imports())
    rows, chains = _rows(arrows)
    widths = [sum(1 if node in arrows else PASSING for node in row) for row in rows]
    places: dict[str, Point] = {}
    for level, row in enumerate(rows):
        column = (max(widths) - widths[level]) / 2
        for node in row:
            wide = 1 if node in arrows else PASSING
            height = MARGIN + ROW * (len(rows) - 1 - level) + BOX_HEIGHT / 2
            places[node] = (MARGIN + COLUMN * (column + wide / 2), height)
            column += wide
    drawn = [_curve([places[node] for node in chain]) for chain in chains]
    for name in sorted(arrows):
        x, y = places[name]
        drawn.append(_box(x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT))
        drawn.append(_text(x, y + 4, name, anchor="middle"))
    return _picture(
        2 * MARGIN + COLUMN * max(widths),
        2 * MARGIN + ROW * (len(rows) - 1) + BOX_HEIGHT,
        "Packages of memory/services: an arrow leads from one that imports to what it imports",
        drawn,
    )


def _rows(arrows: dict[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the packages in rows, the lowest first, ordered so that few arrows cross, and the nodes that each arrow
    passes.

    An arrow across several rows has a nameless node in each row between (Sugiyama, Tagawa and Toda 1981).
    """

    @cache
    def level(name: str) -> int:
        return max((level(one) + 1 for one in arrows[name]), default=0)

    rows: list[list[str]] = [[] for _ in range(max(map(level, arrows)) + 1)]
    for name in sorted(arrows):
        rows[level(name)].append(name)
    chains = []
    for start, end in sorted((start, end) for start, ends in arrows.items() for end in ends):
        between = [(f"{start} {end} {row}", row) for row in range(level(start) - 1, level(end), -1)]
        for node, row in between:
            rows[row].append(node)
        chains.append([start, *(node for node, _ in between), end])
    beside: dict[str, list[str]] = {node: [] for row in rows for node in row}
    for chain in chains:
        for upper, lower in pairwise(chain):
            beside[upper].append(lower)
            beside[lower].append(upper)
    for _ in range(12):
        for numbers in (range(1, len(rows)), range(len(rows) - 2, -1, -1)):
            step = numbers.step
            for number in numbers:
                fixed = rows[number - step]
                middle = {node: index - len(fixed) / 2 for index, node in enumerate(fixed)}

                def centre(node: str, middle: dict[str, float] = middle) -> float:
                    found = [middle[one] for one in beside[node] if one in middle]
                    return sum(found) / len(found) if found else 0.0

                rows[number].sort(key=centre)
    return rows, chains


def draw_routes() -> str:
    """Return the routes as SVG, one column each: packages from top to bottom, with their modules in order of calls."""
    drawn, lowest = [], 0.0
    for number, (title, steps) in enumerate(routes().items()):
        left = MARGIN + number * (STEP_WIDTH + MARGIN)
        middle = left + STEP_WIDTH / 2
        drawn.append(_text(left, MARGIN + 12, title, weight="bold"))
        y = MARGIN + 26.0
        for place, (package, modules) in enumerate(steps):
            lines = textwrap.wrap(", ".join(filter(None, modules)), STEP_CHARS)
            height = LINE_HEIGHT * (len(lines) + 1) + 12
            if place:
                drawn.append(_curve([(middle, y - STEP_GAP), (middle, y + BOX_HEIGHT / 2)]))
            drawn.append(_box(left, y, STEP_WIDTH, height))
            drawn.append(_text(left + 10, y + LINE_HEIGHT + 2, package.replace(".", "/"), weight="bold"))
            for row, line in enumerate(lines, start=2):
                drawn.append(_text(left + 10, y + LINE_HEIGHT * row + 2, line))
            lowest = max(lowest, y + height)
            y += height + STEP_GAP
    width = MARGIN + len(ROUTES) * (STEP_WIDTH + MARGIN)
    return _picture(
        width, lowest + MARGIN, "The modules that each route goes through, in the order of the calls", drawn
    )


def _curve(points: Sequence[Point]) -> str:
    """Return a line down from box to box, with its head at the last one's upper edge."""
    ends = [(points[0][0], points[0][1]), *points[1:-1], (points[-1][0], points[-1][1] - BOX_HEIGHT / 2 - 2)]
    path = f"M{_number(ends[0][0])} {_number(ends[0][1])}"
    for (x, y), (to_x, to_y) in pairwise(ends):
        half = (y + to_y) / 2
        path += f"C{_number(x)} {_number(half)} {_number(to_x)} {_number(half)} {_number(to_x)} {_number(to_y)}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.4" marker-end="url(#head)"/>'


def _box(x: float, y: float, width: float, height: float) -> str:
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    return f'<rect {place} rx="5" fill="{BOX}" stroke="{LINE}"/>'


def _text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal") -> str:
    look = f'text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{_number(x)}" y="{_number(y)}" {look}>{escape(words)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _picture(width: float, height: float, title: str, drawn: Sequence[str]) -> str:
    size = f"{_number(width)} {_number(height)}"
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="12" '
            f'fill="{INK}">',
            f"<title>{escape(title)}</title>",
            f"<defs>{head}</defs>",
            f'<rect width="100%" height="100%" rx="8" fill="{GROUND_COLOUR}"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )


def pictures() -> dict[str, str]:
    """Return the pictures by file name in docs/images."""
    return {"packages.svg": draw_packages(), "routes.svg": draw_routes()}


if __name__ == "__main__":
    for name, drawing in pictures().items():
        (IMAGES / name).write_text(drawing, encoding="utf-8")
