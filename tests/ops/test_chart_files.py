"""The numbers of a chart as a file, downloaded from the chart's own link."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Entity, EvaluationRun, Memory, RequestMinute
from memory.services.entities.extract import index_pending
from memory.services.evaluation import judgements
from memory.services.monitoring.request_log import BOUNDS
from ops.chart_files import chart_file
from ops.charts import histogram
from tests.ops.conftest import NOW
from tests.ops.test_evaluation_page import measured
from tests.ops.test_pipeline import quarantined


def links(page: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'<a href="([^"]*csv=[^"]*)">CSV</a>', page)]


def table(client, link: str) -> list[list[str]]:
    response = client.get(link)
    assert response.status_code == 200, link
    assert response.headers["Content-Disposition"].endswith('.csv"')
    return list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))


def counted(**figures) -> None:
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=5)
    latency = [0] * (len(BOUNDS) + 1)
    latency[3] = figures["count"]
    RequestMinute.objects.create(minute=minute, latency=latency, errors=0, empty_recalls=0, **figures)


def test_each_line_of_the_overview_is_a_file(staff, world):
    counted(namespace_id=RequestMinute.ALL, route="v1/query", count=4)
    counted(namespace_id=world.harbour.namespace_id, route="v1/query", count=4)
    page = staff.get("/ops/", {"window": "1h", "ns": "harbour"}).content.decode()
    found = {re.search("csv=(.*)", link)[1]: table(staff, link) for link in links(page)}
    assert set(found) == {"requests", "latency"}  # the summaries are older than the window
    head, *rows = found["requests"]
    assert head == ["", "Ingest", "Recall"]
    assert len(rows) == 61  # from the minute in which the hour began
    assert [row[2] for row in rows if row[2] != "0.0"] == ["4.0"]
    assert all("T" in row[0] for row in rows)
    assert [row[1] for row in found["latency"][1:] if row[1]] == ["7.5"]  # the middle of 5 to 10 ms


def test_the_curve_of_decay_is_a_file_with_what_is_tried(staff, world):
    page = staff.get("/ops/decay/", {"ns": "harbour", "said": "40", "kind": "said"}).content.decode()
    [link] = links(page)
    head, *rows = table(staff, link)
    assert "as tried" in " ".join(head)
    assert (len(rows), rows[0][0]) == (49, "0")


def test_the_trend_of_evaluations_is_a_file(staff, world):
    for share in (0.5, 0.75):
        metrics = {"overall": {"R@10": share, "MRR": share}, "questions": 1}
        EvaluationRun.objects.create(namespace="harbour", status="finished", actor="test", metrics=metrics)
    page = staff.get("/ops/evaluation/", {"set": "namespace:harbour"}).content.decode()
    [link] = links(page)
    assert [row[1:] for row in table(staff, link)[1:]] == [["0.5", "0.5"], ["0.75", "0.75"]]


def test_columns_are_a_file_too(staff, world):
    for page in ("/ops/ns/?ns=harbour", "/ops/audit/?ns=harbour&window=all"):
        link = links(staff.get(page).content.decode())[0]
        assert sum(int(row[1]) for row in table(staff, link)[1:]) > 0


def test_parts_of_a_whole_are_a_file(staff, world):
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(state="archived")
    found = table(staff, "/ops/ns/?ns=harbour&csv=states")
    assert found[0] == ["", "Memories by state"]
    assert ["Archived", "1"] in found
    assert "/ops/ns/?ns=harbour&csv=states" in links(staff.get("/ops/ns/?ns=harbour").content.decode())


def test_what_waits_in_quarantine_is_three_files(staff, world):
    quarantined(world.harbour)
    found = {link: table(staff, link) for link in links(staff.get("/ops/quarantine/?ns=harbour").content.decode())}
    assert [link.rpartition("=")[2] for link in found] == ["rules", "ages", "namespaces"]
    assert [sum(int(count) for _label, count in rows[1:]) for rows in found.values()] == [1, 1, 1]
    assert ["harbour", "1"] in found["/ops/quarantine/?ns=harbour&csv=namespaces"]


def test_an_entitys_months_are_a_file(staff, world):
    index_pending(now=NOW)
    entity = Entity.objects.across_namespaces().get(name="Tove")
    [link] = links(staff.get(f"/ops/entities/{entity.id}/", {"ns": "harbour"}).content.decode())
    head, *rows = table(staff, link)
    assert head == ["", "Mentions"]
    assert sum(int(count) for _month, count in rows) > 0


def test_the_bars_of_an_evaluation_are_files(staff, world):
    marks = [judgements.Mark(world.ids[0], True)]
    judgements.judge(world.harbour, query_text="Who boards?", marks=marks, now=NOW)
    run = measured(world.harbour)
    page = f"/ops/evaluation/{run.pk}/?ns=harbour"
    found = {link.rpartition("=")[2]: table(staff, link) for link in links(staff.get(page).content.decode())}
    weights = {**run.configuration.get("weights", {}), **run.configuration.get("signals", {})}
    numbers = {name: value for name, value in weights.items() if isinstance(value, int | float)}
    assert {name: float(value) for name, value in found["weights"][1:]} == numbers


DRAWING = ("/ops/", "/ops/decay/?ns=harbour", "/ops/evaluation/", "/ops/ns/?ns=harbour", "/ops/quarantine/")


@pytest.mark.parametrize("page", DRAWING)
def test_a_chart_that_the_page_does_not_draw_is_not_found(staff, world, page):
    assert staff.get(page + ("&" if "?" in page else "?") + "csv=nothing").status_code == 404


def test_the_file_is_for_those_who_may_see_the_page(world, grant_console):
    clerk = grant_console("bakery")
    assert clerk.get("/ops/ns/?ns=harbour&csv=growth").status_code == 404
    assert clerk.get("/ops/ns/?ns=bakery&csv=growth").status_code == 200


def test_a_label_is_no_formula(rf):
    drawn = histogram("", labels=["=1+1"], values=[1], header="@SUM", csv="?csv=x")
    lines = chart_file(rf.get("/", {"csv": "x"}), [drawn]).content.decode("utf-8-sig").splitlines()
    assert lines == [",'@SUM", "'=1+1,1"]
