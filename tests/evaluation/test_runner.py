"""An evaluation measures the answers that the product would give, and leaves nothing behind but its run."""

from __future__ import annotations

import uuid
from collections import Counter

import psycopg
import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from memory.errors import InvalidInput
from memory.evaluation import measure, runner
from memory.evaluation.dataset import read_dataset
from memory.evaluation.measure import foreign_hits
from memory.models import (
    AuditLog,
    EvaluationResult,
    EvaluationRun,
    Memory,
    MemoryVector,
    Namespace,
    RelevanceJudgement,
)
from memory.models.locks import Lock, try_lock
from memory.services.evaluation import judgements, runs
from memory.services.evaluation.judgements import Mark
from memory.services.evaluation.runs import Options
from memory.services.recall.query import query
from memory.services.recall.search import Ask, questions
from memory.stores import redis as redis_store
from tests.evaluation.conftest import CORPUS

pytestmark = pytest.mark.django_db

NARROWED_BY_NOTHING = Options()
STORED = {"memory.EvaluationRun", "memory.EvaluationResult", "memory.AuditLog", "memory.EmbeddingModel"}


def evaluate(folder, *, options=NARROWED_BY_NOTHING, keep=False, progress=lambda done, total: None):
    return runner.run_dataset(
        read_dataset(folder), options=options, label="x", actor="tests", keep=keep, now=timezone.now, progress=progress
    )


def evaluate_namespace(scope, **options):
    return runner.run_namespace(
        scope, options=Options(**options), label="", now=timezone.now, progress=lambda done, total: None
    )


def judge(tenant, question, marks):
    judgements.judge(
        tenant.scope,
        query_text=question,
        marks=[Mark(uuid.UUID(memory_id), relevant) for memory_id, relevant in marks.items()],
        now=timezone.now(),
    )


def row_counts() -> Counter[str]:
    return Counter({model._meta.label: model._base_manager.count() for model in apps.get_models()})


def redis_keys() -> list:
    return redis_store.call(lambda client: sorted(client.scan_iter("memos:*")))


def test_it_asks_each_question_of_its_own_group_and_of_every_group_for_a_star(dataset):
    run = evaluate(dataset)

    assert run.status == "finished"
    asked = EvaluationResult.objects.across_namespaces().order_by("number").values_list("group", "query_id")
    assert list(asked) == [("a", "q1"), ("a", "q2"), ("a", "q3"), ("b", "q3")]
    assert (run.metrics["questions"], run.metrics["groups"], run.metrics["documents"]) == (4, 2, 5)
    by_id = {(row.group, row.query_id): row.metrics for row in EvaluationResult.objects.across_namespaces()}
    assert by_id["a", "q1"]["MRR"] == by_id["b", "q3"]["MRR"] == 1
    # The question for every group has its evidence in one group only.
    assert by_id["a", "q3"]["R@20"] == 0
    assert run.metrics["overall"]["R@10"] == 0.75
    assert {kind: one["questions"] for kind, one in run.metrics["by_type"].items()} == {"fact": 3, "time": 1}


def test_nothing_but_the_run_is_left(dataset, alice, remember):
    remember(alice, "The kiln of Alice is broken.")
    before, keys, names = row_counts(), redis_keys(), list(Namespace.objects.values_list("name", flat=True))
    evaluate(dataset)

    assert {label for label, count in (row_counts() - before).items() if count} <= STORED
    assert not before - row_counts()
    assert redis_keys() == keys
    assert list(Namespace.objects.values_list("name", flat=True)) == names
    assert set(AuditLog.objects.filter(namespace_id=0, actor="tests").values_list("event_type", flat=True)) >= {
        "EVALUATION_START",
        "EVALUATION_FINISH",
    }
    assert not AuditLog.objects.across_namespaces().filter(namespace__startswith="evaluation-").exists()


def test_long_memories_are_embedded_whole_however_many(make_dataset, monkeypatch):
    # An ingest would leave this to the worker, but an evaluation has to wait for it.
    monkeypatch.setattr("memory.services.index.embedding.INLINE_PASSAGES", 1)
    filler = "Nothing of that kind happens here, says one more sentence. " * 60
    long = {"_id": "a9", "group": "a", "text": f"{filler}The submarine periscope is broken."}
    folder = make_dataset(
        corpus=[*CORPUS, long],
        queries=[{"_id": "q1", "group": "a", "text": "submarine periscope broken", "type": "fact"}],
        qrels=[("q1", "a9", 1)],
    )

    run = evaluate(folder, options=Options(arms=True), keep=True)

    passages = MemoryVector.objects.across_namespaces().filter(memory__metadata__doc_id="a9")
    assert passages.count() > 3
    assert MemoryVector.objects.across_namespaces().count() == len(CORPUS) - 2 + passages.count()
    assert run.metrics["arms"]["dense"]["MRR"] == 1


@pytest.mark.parametrize(
    ("error", "reason"), [(KeyboardInterrupt(), "Interrupted."), (RuntimeError("boom"), "RuntimeError: see")]
)
@pytest.mark.parametrize("keep", [False, True])
def test_what_breaks_it_off_leaves_nothing_either_and_the_run_says_so(dataset, error, reason, keep):
    def break_off(done, total):
        assert Namespace.objects.filter(name__startswith="evaluation-").exists()
        raise error

    with pytest.raises(type(error)):
        evaluate(dataset, keep=keep, progress=break_off)

    assert not Namespace.objects.filter(name__startswith="evaluation-").exists()
    assert not Memory.objects.across_namespaces().exists()
    run = EvaluationRun.objects.across_namespaces().get()
    assert (run.status, run.metrics) == ("failed", {})
    assert run.error.startswith(reason)
    assert not EvaluationResult.objects.across_namespaces().exists()


def test_kept_namespaces_stay_and_can_be_asked(dataset):
    run = evaluate(dataset, keep=True)

    names = sorted(Namespace.objects.values_list("name", flat=True))
    assert names == [f"evaluation-{run.pk}-1-a", f"evaluation-{run.pk}-2-b"]
    assert Memory.objects.filter(namespace__name=names[0]).count() == 3


def test_its_ranking_is_the_products(dataset, alice, remember):
    for document in read_dataset(dataset).groups["a"]:
        remember(alice, document.text, speaker=document.speaker, role=document.role)
    answer = query(alice.scope, Ask("How many days does glaze dry?", 50, timezone.now()), session="s")
    place = [hit.text for hit in answer.retrieval.hits].index("Glaze dries for two days.") + 1
    evaluate(dataset)

    assert EvaluationResult.objects.across_namespaces().get(query_id="q2").metrics["MRR"] == pytest.approx(
        1 / place, abs=1e-6
    )


def test_types_and_groups_narrow_it(dataset):
    assert evaluate(dataset, options=Options(types=("time",))).metrics["questions"] == 1
    assert evaluate(dataset, options=Options(groups=("b",))).metrics["questions"] == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (Options(types=("fiction",)), "no questions of the types fiction. It has: fact, time."),
        (Options(groups=("z", "a")), "no questions of the groups z. It has: a, b."),
        (Options(types=("time",), groups=("b",)), "No question is left"),
    ],
)
def test_what_the_dataset_does_not_have_is_refused(dataset, options, problem):
    with pytest.raises(InvalidInput, match=problem):
        evaluate(dataset, options=options)
    assert not EvaluationRun.objects.across_namespaces().exists()


def test_each_arm_is_measured_alone(dataset):
    arms = evaluate(dataset, options=Options(arms=True)).metrics["arms"]

    assert {"dense", "lexical", "dense + lexical", "without neighbours"} <= set(arms)
    # Only one document of the group has the words; the other arm ranks all documents.
    assert arms["lexical"]["MRR"] == 0.75
    assert all(0 <= value <= 1 for one in arms.values() for value in one.values())


def test_tokens_are_those_of_the_pack_against_the_whole_history(make_dataset):
    corpus = [{"_id": str(n), "group": "a", "text": f"Turn {n} speaks of kiln number {n}."} for n in range(60)]
    queries = [{"_id": "q", "group": "a", "text": "kiln number 7"}]
    tokens = evaluate(make_dataset(corpus=corpus, queries=queries, qrels=[("q", "7", 1)])).metrics["tokens"]

    assert tokens["hits"] == 6
    assert 6 * 10 < tokens["context"] < tokens["history"] / 3
    assert tokens["savings"] == pytest.approx(max(0, 1 - tokens["context"] / tokens["history"]), abs=1e-3)


def test_pollution_is_counted_by_what_the_database_says(alice, bob, remember):
    own, foreign = remember(alice, "mine"), remember(bob, "his")
    ids = [Memory.objects.across_namespaces().get(pk=value).pk for value in (own, foreign, foreign)]

    assert foreign_hits(alice.scope, ids[:1]) == 0
    assert foreign_hits(alice.scope, ids) == 2
    assert foreign_hits(bob.scope, ids) == 1


def test_a_search_that_leaks_is_found_out(alice, bob, remember, monkeypatch):
    remember(alice, "The kiln is hot.")
    marked = remember(bob, "The kiln is hot.")
    judge(bob, "kiln?", {marked: True})
    honest = measure.retrieve
    monkeypatch.setattr(measure, "retrieve", lambda scope, *given, **named: honest(alice.scope, *given, **named))

    pollution = evaluate_namespace(bob.scope).metrics["pollution"]

    assert pollution == {"hits": 1, "foreign": 1, "rate": 1}


def test_a_leak_into_a_dataset_is_counted_and_no_crash(dataset, alice, remember, monkeypatch):
    remember(alice, "The kiln is hot.")
    honest = measure.retrieve
    monkeypatch.setattr(measure, "retrieve", lambda scope, *given, **named: honest(alice.scope, *given, **named))
    run = evaluate(dataset)

    assert run.metrics["pollution"] == {"hits": 4, "foreign": 4, "rate": 1}
    assert run.metrics["overall"]["R@20"] == 0


def test_a_namespace_is_measured_by_its_judgements_and_only_read(alice, remember):
    right, wrong = remember(alice, "Green tea, no sugar."), remember(alice, "Coffee at nine.")
    archived = remember(alice, "Old tea.")
    judge(alice, "Which tea?", {right: True, wrong: False, archived: True})
    judge(alice, "Only a wrong one?", {wrong: False})
    Memory.objects.across_namespaces().filter(pk=archived).update(state="archived")
    before, keys = row_counts(), redis_keys()
    run = evaluate_namespace(alice.scope)

    assert (run.namespace_id, run.namespace, run.dataset) == (alice.scope.namespace_id, "alice", "")
    assert run.metrics["questions"] == 1
    assert run.metrics["overall"]["all@10"] == 1
    changed = {label: count for label, count in (row_counts() - before).items() if count}
    assert changed == {"memory.EvaluationRun": 1, "memory.EvaluationResult": 1, "memory.AuditLog": 2}
    assert redis_keys() == keys


def test_a_namespace_without_a_relevant_mark_is_refused(alice, remember):
    judge(alice, "Which?", {remember(alice, "Coffee."): False})
    with pytest.raises(InvalidInput, match="no active memory is marked relevant"):
        evaluate_namespace(alice.scope)
    assert not EvaluationRun.objects.across_namespaces().exists()
    assert RelevanceJudgement.objects.across_namespaces().count() == 1


def test_the_configuration_tells_what_was_measured_and_no_secret(dataset, settings):
    settings.MEMOS_EMBEDDING_API_KEY = "sk-secret"
    settings.MEMOS_EMBEDDING_BASE_URL = "http://user:secret@host/v1"
    run = evaluate(dataset)

    assert run.configuration["embedding"]["provider"] == "hash"
    weights = run.configuration["weights"]
    assert weights["dense"] + weights["lexical"] == pytest.approx(1, abs=1e-5)
    assert run.configuration["settings"]["MEMOS_TOKENIZER"] == django_settings.MEMOS_TOKENIZER
    assert "secret" not in str(run.configuration)


def test_a_question_is_embedded_once_for_all_groups_and_arms(dataset, monkeypatch):
    texts: list[str] = []
    honest = runner.questions
    monkeypatch.setattr(runner, "questions", lambda batch, **options: texts.extend(batch) or honest(batch, **options))
    evaluate(dataset, options=Options(arms=True))

    assert len(texts) == len(set(texts)) == 3


def test_a_run_that_another_process_is_at_is_left_to_it_and_a_lost_one_fails(alice):
    run = runs.create(alice.scope, dataset="", options=Options(), label="", actor="tests", now=timezone.now())
    EvaluationRun.objects.across_namespaces().update(status="running")
    with psycopg.connect(_dsn(), autocommit=True) as other, try_lock(Lock.EVALUATION, run.pk, on=other):
        assert not runner.run_requested(namespace_id=run.namespace_id, run_id=run.pk, now=timezone.now, progress=print)
        assert runs.fail_lost(now=timezone.now()) == 0
        assert EvaluationRun.objects.across_namespaces().get().status == "running"

    assert runs.fail_lost(now=timezone.now()) == 1
    assert "has ended" in EvaluationRun.objects.across_namespaces().get().error
    assert runs.fail_lost(now=timezone.now()) == 0
    assert not runner.run_requested(namespace_id=run.namespace_id, run_id=run.pk, now=timezone.now, progress=print)


def test_arms_that_do_not_take_part_weigh_nothing(alice, remember):
    remember(alice, "The kiln is hot.")
    remember(alice, "Nothing of the kind.")
    (question,) = questions([Ask("kiln", 1, timezone.now())])
    both = measure.retrieve(alice.scope, question, top_k=10)
    words = measure.retrieve(alice.scope, question, top_k=10, arms=["lexical"])
    meaning = measure.retrieve(alice.scope, question, top_k=10, arms=["dense"])

    assert both.weights["dense"] + both.weights["lexical"] == pytest.approx(1)
    assert set(both.weights) > {"dense", "lexical"}
    assert words.weights == {"dense": 0, "lexical": 1}
    assert len(words.hits) == 1
    assert meaning.weights == {"dense": 1, "lexical": 0}
    assert len(meaning.hits) == 2


def _dsn() -> str:
    given = connection.get_connection_params()
    kept = {name: given[name] for name in ("dbname", "host", "port", "user", "password") if given.get(name)}
    return psycopg.conninfo.make_conninfo(**kept)
