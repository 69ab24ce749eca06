"""/v1/evaluations: who may measure what, and what a run shows."""

from __future__ import annotations

import uuid

import pytest

from memory.models import AuditLog, EvaluationRun, Memory
from tests import job_queue
from tests.evaluation.conftest import QRELS, write_dataset
from tests.job_queue import queued_jobs, run_task


@pytest.fixture
def chief(make_tenant):
    """Return a key of all namespaces."""
    return make_tenant("chief", all_namespaces=True)


@pytest.fixture
def sets(tmp_path, settings):
    settings.MEMOS_EVALUATION_DIR = str(tmp_path / "sets")
    write_dataset(tmp_path / "sets" / "pottery")
    write_dataset(tmp_path / "outside")
    (tmp_path / "sets" / "linked").symlink_to(tmp_path / "outside")
    return tmp_path / "sets"


def work_off() -> None:
    """Carry out the queued evaluations, as the worker would."""
    for job in queued_jobs().filter(kind="evaluate"):
        run_task("evaluate", *job.arguments)
        job.delete()


def finished(tenant, body) -> dict:
    run = tenant.post("/v1/evaluations", body).json()
    work_off()
    return tenant.get(f"/v1/evaluations/{run['id']}").json()


@pytest.fixture
def judged(remember):
    """Make a namespace with one judged question."""

    def make(tenant, question="Which tea?"):
        right, wrong = remember(tenant, "Green tea, no sugar."), remember(tenant, "Coffee at nine.")
        marks = [{"memory_id": right, "relevant": True}, {"memory_id": wrong, "relevant": False}]
        answer = tenant.post("/v1/judgements", {"namespace": tenant.scope.namespace, "query": question, "marks": marks})
        assert answer.status_code == 200, answer.content
        return right

    return make


@pytest.mark.parametrize("scopes", [("read",), ("write",), ("read", "write")])
def test_measuring_needs_the_admin_scope(make_tenant, sets, scopes):
    tenant = make_tenant("lesser", scopes=scopes, all_namespaces=True)

    assert tenant.post("/v1/evaluations", {"dataset": "pottery"}).status_code == 403
    assert not EvaluationRun.objects.across_namespaces().exists()


@pytest.mark.parametrize(
    "path", ["/v1/evaluations", "/v1/evaluations/6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11", "/v1/evaluations/compare"]
)
def test_looking_needs_the_read_scope(make_tenant, olga, path):
    assert olga.get(path).status_code == 401
    assert make_tenant("writer", scopes=("write",)).get(path).status_code == 403


def test_a_tenant_may_not_measure_datasets(alice, sets):
    answer = alice.post("/v1/evaluations", {"dataset": "pottery"})

    assert answer.status_code == 403
    assert "all namespaces" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        *((name, 400) for name in ("../outside", "..", ".", "pottery/..", "/etc", "a\\b", ".hidden", "ü", "a b")),
        ("nowhere", 404),
        ("linked", 404),
    ],
)
def test_no_path_leads_out_of_the_folder(chief, sets, name, status):
    answer = chief.post("/v1/evaluations", {"dataset": name})

    assert answer.status_code == status
    assert answer.json()["error"]["detail"] == {"field": "dataset"}
    assert not EvaluationRun.objects.across_namespaces().exists()
    assert not queued_jobs().exists()


def test_without_a_folder_datasets_are_not_found(chief):
    answer = chief.post("/v1/evaluations", {"dataset": "pottery"})

    assert answer.status_code == 404
    assert "`datasets` in MEMOS_DATA_DIR" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "dataset"),
        ({"dataset": "pottery", "namespace": "alice"}, "dataset"),
        ({"namespace": "alice", "types": ["fact"]}, "types"),
        ({"namespace": "alice", "top_k": 19}, "top_k"),
        ({"namespace": "alice", "top_k": 101}, "top_k"),
        ({"namespace": "alice", "arms": "yes"}, "arms"),
        ({"namespace": "alice", "label": "x" * 101}, "label"),
        ({"dataset": "pottery", "groups": "a"}, "groups"),
    ],
)
def test_a_wrong_body_is_refused(alice, body, field):
    answer = alice.post("/v1/evaluations", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_another_tenants_namespace_and_runs_look_like_none(alice, bob, chief, judged, sets):
    judged(bob)
    run, of_set = finished(bob, {"namespace": "bob"}), finished(chief, {"dataset": "pottery"})
    assert run["status"] == of_set["status"] == "finished"

    assert alice.post("/v1/evaluations", {"namespace": "bob"}).status_code == 404
    assert alice.get("/v1/evaluations").json() == {"evaluations": []}
    assert alice.get("/v1/evaluations", namespace="bob").status_code == 404
    for other in (run, of_set):
        seen = alice.get(f"/v1/evaluations/{other['id']}")
        never = alice.get(f"/v1/evaluations/{uuid.uuid4()}")
        assert seen.status_code == never.status_code == 404
        assert seen.json()["error"]["code"] == never.json()["error"]["code"]
        assert alice.get("/v1/evaluations/compare", base=other["id"], run=other["id"]).status_code == 404
    # Bob sees his own runs, but not those that were measured for everyone.
    assert [one["id"] for one in bob.get("/v1/evaluations").json()["evaluations"]] == [run["id"]]
    assert {one["id"] for one in chief.get("/v1/evaluations").json()["evaluations"]} == {run["id"], of_set["id"]}
    assert [one["id"] for one in chief.get("/v1/evaluations", namespace="bob").json()["evaluations"]] == [run["id"]]


def test_a_run_is_queued_and_then_shows_what_it_found(chief, sets):
    queued = chief.post("/v1/evaluations", {"dataset": "pottery", "label": "first", "arms": True}).json()

    assert (queued["status"], queued["metrics"], queued["dataset"]) == ("queued", {}, "pottery")
    again = chief.post("/v1/evaluations", {"dataset": "pottery"})
    assert again.status_code == 409
    assert queued["id"] in again.json()["error"]["message"]
    assert again.json()["error"]["detail"] == {"id": queued["id"]}
    work_off()
    run = chief.get(f"/v1/evaluations/{queued['id']}", include_results="true").json()
    assert (run["status"], run["label"], run["namespace"]) == ("finished", "first", None)
    assert run["metrics"]["overall"]["R@10"] == 0.75
    assert {"dense", "lexical", "dense + lexical"} <= set(run["metrics"]["arms"])
    assert [row["query_id"] for row in run["results"]] == ["q1", "q2", "q3", "q3"]
    assert chief.get(f"/v1/evaluations/{queued['id']}").json()["results"] is None
    assert not Memory.objects.across_namespaces().exists()


def test_its_job_shows_how_far_it_is(chief, sets):
    run = chief.post("/v1/evaluations", {"dataset": "pottery"}).json()
    job_queue.work_off()

    (job,) = chief.get("/v1/ops/jobs", kind="evaluate").json()["jobs"]
    assert (job["state"], job["progress"], job["subject"]) == ("done", {"done": 4, "total": 4}, [run["id"]])


def test_a_job_that_runs_twice_changes_nothing_the_second_time(chief, sets):
    run = finished(chief, {"dataset": "pottery"})
    before = list(EvaluationRun.objects.across_namespaces().values())

    assert run_task("evaluate", 0, run["id"]) is False
    assert run_task("evaluate", 0, str(uuid.uuid4())) is False
    assert list(EvaluationRun.objects.across_namespaces().values()) == before


def test_a_dataset_that_cannot_be_used_fails_the_run_with_its_reason(chief, sets):
    (sets / "pottery" / "corpus.jsonl").write_text("{\n")
    run = finished(chief, {"dataset": "pottery"})

    assert run["status"] == "failed"
    assert "corpus.jsonl line 1" in run["error"]
    refused = chief.get("/v1/evaluations/compare", base=run["id"], run=run["id"])
    assert refused.status_code == 400
    assert "only finished ones" in refused.json()["error"]["message"]


def test_a_namespace_without_judgements_fails_the_run_with_its_reason(alice):
    assert "POST /v1/judgements" in finished(alice, {"namespace": "alice"})["error"]


def test_two_runs_are_compared(chief, sets):
    base = finished(chief, {"dataset": "pottery"})
    run = finished(chief, {"dataset": "pottery", "groups": ["a"]})
    found = chief.get("/v1/evaluations/compare", base=base["id"], run=run["id"]).json()

    assert (found["questions"], found["only_in_base"], found["only_in_run"]) == (3, 1, 0)
    assert found["same_content"] is True
    assert found["regressions"] == []
    assert found["metrics"]["R@10"] == {
        "base": pytest.approx(2 / 3, abs=1e-6),
        "run": pytest.approx(2 / 3, abs=1e-6),
        "difference": 0,
        "low": 0,
        "high": 0,
    }


def test_questions_with_other_evidence_are_not_compared(chief, sets):
    base = finished(chief, {"dataset": "pottery"})
    write_dataset(sets / "pottery", qrels=[("q1", "a2", 1), *QRELS[1:]])
    run = finished(chief, {"dataset": "pottery"})
    found = chief.get("/v1/evaluations/compare", base=base["id"], run=run["id"]).json()

    assert (found["questions"], found["only_in_base"], found["only_in_run"]) == (3, 1, 1)
    assert found["same_content"] is False


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"base": "x"}, "base"),
        ({"run": ""}, "run"),
        *(({"tolerance": value}, "tolerance") for value in ("-1", "nan", "inf")),
    ],
)
def test_a_wrong_comparison_is_refused(alice, query, field):
    right = {"base": str(uuid.uuid4()), "run": str(uuid.uuid4())}
    answer = alice.get("/v1/evaluations/compare", **{**right, **query})

    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["error"]["detail"]] == [field]


def test_the_events_of_a_run_belong_to_its_namespace_and_hold_no_text(alice, judged):
    judged(alice)
    run = finished(alice, {"namespace": "alice"})
    events = AuditLog.objects.across_namespaces().filter(subject=run["id"]).order_by("id")

    assert [event.event_type for event in events] == ["EVALUATION_START", "EVALUATION_FINISH"]
    assert {event.namespace_id for event in events} == {alice.scope.namespace_id}
    assert not AuditLog.objects.across_namespaces().filter(details__icontains="which tea").exists()
