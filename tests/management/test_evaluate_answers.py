"""manage.py evaluate --answers: quotes or a model's answers are marked, kept line by line, resumed and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.models import ContextPack, Memory, Namespace
from tests.evaluation.test_published import LOCOMO, personamem, write
from tests.providers.chat_endpoint import ScriptedChat, scripted_model

pytestmark = pytest.mark.django_db

TALK = [
    {
        **LOCOMO[0],
        "conversation": {
            **LOCOMO[0]["conversation"],
            "session_3_date_time": "8:00 am on 10 June, 2023",
            "session_3": [
                {"speaker": "Nora", "dia_id": "D3:1", "text": "My bicycle has a flat tyre again."},
                {"speaker": "Nora", "dia_id": "D3:2", "text": "The potter in Linz repairs cracked bowls with gold."},
            ],
        },
        "qa": [
            {"question": "Who repairs cracked bowls with gold?", "answer": "the potter in Linz", "category": 4},
            {"question": "What has a flat tyre?", "answer": "Nora's bicycle", "category": 1},
            {"question": "Which opera did Marta conduct in Madrid?", "category": 5},
        ],
    }
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write(tmp_path, "talk.json", TALK)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "results.jsonl"


@pytest.fixture
def model(settings) -> Iterator[ScriptedChat]:
    with scripted_model(settings) as chat:
        yield chat


def evaluate(*arguments: object) -> str:
    written = StringIO()
    call_command("evaluate", "--answers", *map(str, arguments), stdout=written)
    return written.getvalue()


def report(*arguments: object) -> dict[str, Any]:
    return json.loads(evaluate(*arguments, "--json"))


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_without_a_model_quotes_are_scored_by_their_words_and_it_says_so(talk, out):
    found = report(talk, "--out", out)

    assert (found["set"], found["format"], found["model"], found["judge"]) == ("talk", "locomo", "extractive", "")
    assert any("no model judges" in note for note in found["notes"])
    assert found["questions"] == 3
    assert found["by_type"]["single_hop"]["contained"] == 1.0
    assert found["by_type"]["single_hop"]["right"] is None
    assert found["by_type"]["adversarial"] == {
        "questions": 1, "right": 1.0, "f1": 0.0, "contained": 1.0, "abstained": 1.0,
    }  # fmt: skip
    head, *results = lines(out)
    assert head["digest"]
    assert [one["id"] for one in results] == ["talk-1/0", "talk-1/1", "talk-1/2"]
    assert "potter in Linz" in results[0]["answer"]


def test_nothing_but_the_results_is_left(talk, out):
    evaluate(talk, "--out", out)

    assert not Namespace.objects.exists()
    assert not Memory.objects.across_namespaces().exists()
    assert not ContextPack.objects.across_namespaces().exists()


def test_a_run_goes_on_where_it_was_interrupted_even_within_a_line(talk, out):
    whole = report(talk, "--out", out)
    written = out.read_bytes()
    head, first, _ = written.split(b"\n", 2)
    out.write_bytes(head + b"\n" + first + b'\n{"id": "talk-1/1", "ty')

    assert report(talk, "--out", out) == whole
    again = lines(out)
    assert [one.get("id") for one in again] == [None, "talk-1/0", "talk-1/1", "talk-1/2"]


def test_results_of_another_run_are_not_mixed_with_these(talk, out):
    evaluate(talk, "--out", out)

    with pytest.raises(CommandError, match="max_tokens is 60 there") as refusal:
        evaluate(talk, "--out", out, "--max-tokens", "90")

    assert "Name another file" in str(refusal.value)


def test_a_file_of_something_else_is_not_overwritten(talk, out):
    out.parent.mkdir()
    out.write_text("mine\n")

    with pytest.raises(CommandError, match="holds no results"):
        evaluate(talk, "--out", out)

    assert out.read_text() == "mine\n"


def test_a_model_answers_and_a_judge_marks_what_it_says(talk, out, model):
    model.pieces = ['{"correct": true, "reason": "Says the same [1]."}']

    found = report(talk, "--out", out, "--types", "single_hop,multi_hop")

    assert (found["model"], found["judge"]) == ("llamacpp/scripted", "llamacpp/scripted")
    assert any("the judge is the model that answered" in note for note in found["notes"])
    assert found["overall"]["right"] == 1.0
    assert found["usage"]["prompt_tokens"] == 180
    assert found["usage"]["cached_tokens"] == 128
    judged = [asked for asked in model.asked if not asked.get("stream")]
    assert len(judged) == 2
    assert "the potter in Linz" in judged[0]["messages"][-1]["content"]


def test_prompts_of_ones_own_judge_by_yes_and_no(talk, out, tmp_path, model):
    model.pieces = ["no"]
    prompts = write(tmp_path, "prompts.json", {"answer": "Q {question} G {gold} A {answer} yes or no?"})

    found = report(talk, "--out", out, "--types", "single_hop", "--judge-prompts", prompts)

    assert found["overall"]["right"] == 0.0
    assert model.asked[-1]["messages"][-1]["content"].startswith("Q Who repairs cracked bowls with gold? G the potter")


@pytest.mark.parametrize(
    ("prompts", "says"),
    [
        ([], "no JSON object of texts"),
        ({"taste": "x"}, "it has taste; it may have answer"),
        ({"answer": "{question}"}, "must have the places"),
        ({"answer": "{question} {gold} {answer} {"}, "a brace of its own"),
    ],
)
def test_prompts_that_cannot_be_used_are_refused(talk, out, tmp_path, model, prompts, says):
    with pytest.raises(CommandError, match=says):
        evaluate(talk, "--out", out, "--judge-prompts", write(tmp_path, "prompts.json", prompts))


def test_a_model_that_goes_away_ends_the_run_and_not_what_was_found(talk, out, model):
    model.pieces = ["The potter in Linz [1]."]
    evaluate(talk, "--out", out, "--judge", "none", "--limit", "1")
    model.status = 500

    with pytest.raises(CommandError, match="goes on from there"):
        evaluate(talk, "--out", out, "--judge", "none", "--types", "multi_hop")

    assert [one.get("id") for one in lines(out)] == [None, "talk-1/0"]
    model.status = 200
    assert report(talk, "--out", out, "--judge", "none", "--types", "single_hop,multi_hop")["questions"] == 2


def test_a_choice_is_marked_by_its_letter_without_a_judge(tmp_path, out, model):
    model.pieces = ["(b) [1]"]

    found = report(personamem(tmp_path), "--out", out, "--judge", "none")

    assert found["overall"]["right"] == 1.0
    assert "(a) Tea.\n(b) Coffee." in model.prompt


def test_two_runs_are_compared_question_by_question(talk, out, tmp_path, model):
    evaluate(talk, "--out", out, "--model", "extractive", "--judge", "none")
    model.pieces = ["Nobody knows [1]."]

    found = report(talk, "--out", tmp_path / "other.jsonl", "--judge", "none", "--compare-results", out)

    assert found["differences"]["contained"]["difference"] < 0
    assert "points (95 %" in evaluate(
        talk, "--out", tmp_path / "other.jsonl", "--judge", "none", "--compare-results", out
    )


def test_a_type_that_no_question_has_is_refused(talk, out):
    with pytest.raises(CommandError, match="No question of 'talk' is of these types"):
        evaluate(talk, "--out", out, "--types", "taste")
