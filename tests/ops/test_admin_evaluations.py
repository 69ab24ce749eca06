from __future__ import annotations

import uuid

import pytest

from memory.evaluation.runner import run_namespace
from memory.models import EvaluationRun, RelevanceJudgement
from memory.services.evaluation import judgements, runs
from memory.services.evaluation.judgements import Mark
from memory.services.evaluation.runs import Options
from tests.ops.conftest import HOSTILE, NOW

MODELS = {"evaluationrun": EvaluationRun, "relevancejudgement": RelevanceJudgement}


@pytest.fixture
def measured(world) -> None:
    judgements.judge(
        world.harbour, query_text=HOSTILE, marks=[Mark(world.ids[0], True), Mark(world.hostile, False)], now=NOW
    )
    run_namespace(world.harbour, options=Options(), label=HOSTILE[:100], now=lambda: NOW, progress=lambda *_: None)
    runs.create(None, dataset="pottery", options=Options(), label="", actor="tests", now=NOW)


@pytest.mark.parametrize("name", MODELS)
def test_lists_and_pages_open_and_show_hostile_text_as_text(staff, measured, name, django_assert_max_num_queries):
    with django_assert_max_num_queries(13):
        response = staff.get(f"/admin/memory/{name}/")
    rows = response.context["cl"].result_list
    assert len(rows) == 2
    assert "<script>alert(" not in response.content.decode()
    for row in rows:
        with django_assert_max_num_queries(16):
            shown = staff.get(f"/admin/memory/{name}/{row.pk}/change/")
        assert shown.status_code == 200
        assert "<script>alert(" not in shown.content.decode()


@pytest.mark.parametrize("name", MODELS)
def test_nothing_can_be_changed_here(staff, measured, name):
    before = list(MODELS[name]._base_manager.values())
    base, pk = f"/admin/memory/{name}/", before[0]["id"]
    assert staff.post(f"{base}add/", {}).status_code == 403
    assert staff.post(f"{base}{pk}/change/", {"label": "x"}).status_code == 403
    assert staff.post(f"{base}{pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(base, {"action": "delete_selected", "_selected_action": [str(uuid.UUID(str(pk)))], "post": "yes"})
    assert list(MODELS[name]._base_manager.values()) == before


def test_runs_and_judgements_are_narrowed_by_namespace(staff, measured):
    for name, count in (("evaluationrun", 1), ("relevancejudgement", 2)):
        listed = staff.get(f"/admin/memory/{name}/", {"namespace": "harbour"}).context["cl"].result_list
        assert len(listed) == count
        assert not staff.get(f"/admin/memory/{name}/", {"namespace": "bakery"}).context["cl"].result_list
