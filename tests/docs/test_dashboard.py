"""The dashboard for Grafana uses only series and labels that `/metrics` has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memory import metrics
from memory.enums import FactRefusal
from tests.docs.pages import DOCS, ROOT

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "memos.json").read_text("utf-8"))
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
# Labels that Prometheus itself adds to every series.
GIVEN = {"job", "instance", "le"}


@pytest.fixture
def told(alice: Any, remember: Any) -> dict[str, set[str]]:
    """Return the labels of each series of `/metrics`."""
    remember(alice, "The ferry leaves at nine.")
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "When does the ferry leave?"})
    metrics.count_facts(stored=1, merged=1, refused={FactRefusal(next(iter(FactRefusal.values))): 1})
    metrics.count_delivery("delivered")
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(alice.client.get("/metrics").content.decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


@pytest.mark.django_db(transaction=True)
def test_each_series_and_label_is_there(told):
    assert len(EXPRESSIONS) > 25
    for expression in EXPRESSIONS:
        for name, chosen in re.findall(r"(memos_\w+)\{([^}]*)\}", expression):
            assert name in told, expression
            used = set(re.findall(r"(\w+)=~?\"", chosen))
            used |= {label.strip() for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(",")}
            assert used <= told[name] | GIVEN, expression


def test_panels_do_not_overlap_and_have_titles():
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    titles = [panel["title"] for panel in DASHBOARD["panels"]]
    assert len(set(titles)) == len(titles)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(titles)


def test_the_page_names_the_file():
    assert "deploy/grafana/memos.json" in (DOCS / "operate" / "monitoring.md").read_text("utf-8")
