from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.errors import InvalidInput
from memory.evaluation.dataset import read_dataset
from tests.evaluation.conftest import CORPUS, QRELS, QUERIES


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"corpus": [*CORPUS, "{not json"]}, "corpus.jsonl line 6: is not JSON"),
        ({"corpus": [*CORPUS, "[1]"]}, "corpus.jsonl line 6: must be a JSON object"),
        ({"corpus": [{"group": "a", "text": "t"}]}, "corpus.jsonl line 1: `_id` is missing"),
        ({"corpus": [{"_id": True, "group": "a", "text": "t"}]}, "line 1: `_id` must be a string or a whole number"),
        ({"corpus": [{"_id": "1", "text": "t"}]}, "corpus.jsonl line 1: `group` is missing"),
        ({"corpus": [{"_id": "1", "group": "a", "text": " "}]}, "line 1: `text` must be a string that says something"),
        ({"corpus": [{"_id": "1", "group": "a", "text": "a\0b"}]}, "line 1: `text` holds a NUL character"),
        ({"corpus": [{**CORPUS[0], "speaker": "x" * 129}]}, "line 1: `speaker` must be a string of up to 128"),
        ({"corpus": [*CORPUS, CORPUS[1]]}, "corpus.jsonl line 6: the _id 'a2' stands in line 2 already"),
        ({"queries": [*QUERIES, QUERIES[0]]}, "queries.jsonl line 5: the _id 'q1' stands in line 1 already"),
        ({"queries": [{"_id": "q1", "group": "a", "text": 7}]}, "queries.jsonl line 1: `text` must be a string"),
        ({"queries": [{**QUERIES[0], "type": 3}]}, "queries.jsonl line 1: `type` must be a string"),
        ({"queries": [{**QUERIES[0], "type": "a\0b"}]}, "queries.jsonl line 1: `type` holds a NUL character"),
        ({"qrels": [*QRELS, ("q1", "a2")]}, "qrels.tsv line 6: must be query-id, corpus-id and a number"),
        ({"qrels": [("q1", "a1", "much")]}, "qrels.tsv line 2: must be query-id, corpus-id and a number"),
        ({"qrels": [("q1", "a1", "nan")]}, "qrels.tsv line 2: must be query-id"),
        ({"qrels": [("q1", "a1", 0)]}, "no question of queries.jsonl has evidence"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(make_dataset, changes, problem):
    with pytest.raises(InvalidInput) as refused:
        read_dataset(make_dataset(**changes))
    assert problem in refused.value.message


def test_every_fault_is_listed_but_not_endlessly(make_dataset):
    with pytest.raises(InvalidInput) as refused:
        read_dataset(make_dataset(corpus=[{"_id": number} for number in range(50)]))
    assert len(refused.value.message.splitlines()) == 22
    assert "… and 30 more" in refused.value.message


def test_a_missing_file_is_named(dataset):
    (dataset / "qrels.tsv").unlink()

    with pytest.raises(InvalidInput, match=r"qrels\.tsv cannot be read \(No such file"):
        read_dataset(dataset)


def test_rows_become_memories_as_clients_would_send_them(dataset):
    found = read_dataset(dataset)

    assert {name: len(memories) for name, memories in found.groups.items()} == {"a": 3, "b": 2}
    first, second, third = found.groups["a"]
    assert (first.speaker, first.role, first.session, first.occurred_at) == ("Tove", "user", "s1", None)
    assert (second.speaker, second.role) == ("", "agent")
    assert second.occurred_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert third.metadata == {"doc_id": "a3"}


def test_questions_without_evidence_are_left_out_and_counted(dataset):
    found = read_dataset(dataset)

    assert [question.id for question in found.questions] == ["q1", "q2", "q3"]
    assert found.notes == ["questions without evidence in qrels.tsv, left out: 1"]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("May-08-2023", datetime(2023, 5, 8, tzinfo=UTC)),
        ("08.05.2023, 13:56:01", datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)),
        ("2023年05月08日 周一 13:56", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023年5月8日 星期一", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08 13:56", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T15:56:00+02:00", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("last spring", None),
    ],
)
def test_times_are_read_as_sets_write_them(make_dataset, written, moment):
    found = read_dataset(make_dataset(corpus=[{**CORPUS[0], "time": written}, *CORPUS[1:]]))

    assert found.groups["a"][0].occurred_at == moment
    assert any("times of corpus.jsonl that cannot be read" in note for note in found.notes) == (moment is None)


def test_what_is_cut_or_unknown_is_noted(make_dataset):
    corpus = [{**CORPUS[0], "text": "kiln " * 5_000}, *CORPUS[1:]]
    queries = [*QUERIES, {"_id": "q9", "group": "z", "text": "Where?"}]
    found = read_dataset(
        make_dataset(corpus=corpus, queries=queries, qrels=[*QRELS, ("q9", "a1", 1), ("q1", "nix", 1)])
    )

    assert len(found.groups["a"][0].text) == 20_000
    notes = " | ".join(found.notes)
    assert "texts of corpus.jsonl cut to the 20,000 characters that ingest takes: 1" in notes
    assert "questions of a group without documents, left out: 1" in notes
    assert "evidence of qrels.tsv that corpus.jsonl does not have, counted as not found: 1" in notes


def test_the_digest_follows_the_content(dataset, make_dataset):
    same, other = make_dataset(), make_dataset(qrels=QRELS[:-1])

    assert read_dataset(dataset).digest == read_dataset(dataset).digest
    assert same == other
    assert read_dataset(other).digest != read_dataset(dataset).digest
