"""The page on the architecture: its pictures match the code, and its tables match the import contracts."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.pages import DOCS, ROOT
from tools import architecture

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS, SERVICES, _ = (
    [set(layer.split(" | ")) for layer in contract["layers"]] for contract in CONTRACTS if contract["type"] == "layers"
)


def table(heading: str, column: int) -> list[str]:
    """Return the cells of a column of the table below a heading, in order."""
    page = (DOCS / "develop" / "architecture.md").read_text("utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("|")]
    return [row[column].strip() for row in rows[2:]]


@pytest.mark.parametrize("name", ["packages.svg", "routes.svg"])
def test_the_pictures_show_the_code_as_it_is(name: str):
    drawn = (architecture.IMAGES / name).read_text("utf-8")

    assert drawn == architecture.pictures()[name], "run: .venv/bin/python tools/architecture.py"


def test_the_table_of_services_has_the_packages_in_the_order_of_their_contract():
    rows = [set(cell.split(", ")) for cell in table("Services by capability", 0)]

    assert rows == SERVICES
    assert set().union(*rows) == set(architecture.service_imports())


def test_the_table_of_layers_has_the_packages_in_the_order_of_their_contract():
    named = [re.findall(r"`([\w.]+)`", cell) for cell in table("Layers", 1)]
    level = {package: number for number, layer in enumerate(LAYERS) for package in layer}
    numbers = [level[package] for packages in named for package in packages]

    assert numbers == sorted(numbers)
    assert len(numbers) == len(level)


def test_every_contract_is_named():
    """The page has the right number of contracts besides the layers."""
    page = (DOCS / "develop" / "architecture.md").read_text("utf-8")

    assert len(CONTRACTS) == 9
    assert "Eight more contracts" in page


def test_a_way_that_a_longer_one_replaces_is_left_out():
    arrows = {"top": {"middle", "low"}, "middle": {"low"}, "low": set()}

    assert architecture.without_detours(arrows) == {"top": {"middle"}, "middle": {"low"}, "low": set()}


def test_a_route_has_the_modules_in_the_order_of_the_calls():
    order = architecture.walk("memory.services.ingestion.ingest:ingest_batch")
    expected = (
        *("ingestion.ingest", "tenancy.idempotency", "ingestion.admission"),
        *("index.insert", "summaries.refresh", "jobs.queue"),
    )
    steps = [*(f"memory.services.{name}" for name in expected), "memory.stores.window"]

    assert [order.index(step) for step in steps] == sorted(order.index(step) for step in steps)
    assert "memory.gate.secrets" in order


def test_a_package_stands_above_what_it_imports():
    """The heights of the boxes in the picture are compared."""
    drawing = architecture.draw_packages()
    heights = {name: float(y) for y, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>(\w+)</text>', drawing)}
    arrows = architecture.service_imports()

    assert set(heights) == set(arrows)
    assert all(heights[name] < heights[one] for name, imported in arrows.items() for one in imported)
