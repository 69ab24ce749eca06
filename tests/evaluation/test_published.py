"""Question sets in the published formats, on small files of our own."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory.enums import AnswerCriterion, Role
from memory.errors import InvalidInput
from memory.evaluation.published import read_published

LOCOMO = [
    {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Nora",
            "speaker_b": "Ivo",
            "session_10_date_time": "9:05 am on 3 March, 2024",
            "session_10": [{"speaker": "Ivo", "dia_id": "D10:1", "text": "The kiln is sold."}],
            "session_2_date_time": "7:55 pm on 9 June, 2023",
            "session_2": [
                {"speaker": "Nora", "dia_id": "D2:1", "text": "I bought a kiln."},
                {"speaker": "Ivo", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a blue bowl"},
                {"speaker": "Ivo", "dia_id": "D2:3", "text": ""},
            ],
        },
        "qa": [
            {"question": "What did Nora buy?", "answer": "a kiln", "evidence": ["D2:1"], "category": 4},
            {"question": "When was it sold?", "answer": 2024, "evidence": ["D10:1"], "category": 2},
            {"question": "Who stole it?", "adversarial_answer": "Ivo", "evidence": [], "category": 5},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q7",
        "question_type": "knowledge-update",
        "question": "Which train do I take?",
        "answer": "the 8:10",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s_a", "s_b"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I take the 7:40."}, {"role": "assistant", "content": "Noted."}],
            [{"role": "user", "content": "From now on the 8:10.", "has_answer": True}],
        ],
        "answer_session_ids": ["s_b"],
    },
    {
        "question_id": "q8_abs",
        "question_type": "multi-session",
        "question": "Which bus do I take?",
        "answer": "You did not mention a bus.",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s_a"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [[{"role": "user", "content": "I take the 7:40."}]],
        "answer_session_ids": ["s_a"],
    },
]
PREFEVAL = [
    {"preference": "I never eat fish.", "question": "Where shall I dine in Porto?", "explanation": "Much fish there."},
    {
        "preference": "I dislike chains.",
        "question": "A hotel in Graz?",
        "conversation": {
            "query": "Which of these?",
            "assistant_options": "1. A chain. 2. A small inn.",
            "user_selection": "The small inn.",
            "assistant_acknowledgment": "Good.",
        },
    },
    {
        "preference": "I want quiet rooms.",
        "question": "A room in Linz?",
        "conversation": {
            "10": {"user": "Last.", "assistant": "Bye."},
            "2": {"user": "Trams keep me awake.", "assistant": "I see."},
        },
    },
]


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def personamem(folder: Path, options: str = "['(a) Tea.', '(b) Coffee.']") -> Path:
    row = {
        "persona_id": "0",
        "question_id": "u-1",
        "question_type": "recall_user_shared_facts",
        "topic": "drinks",
        "user_question_or_message": "Do I drink tea or coffee?",
        "correct_answer": "(b)",
        "all_options": options,
        "shared_context_id": "c1",
        "end_index_in_shared_context": "2",
    }
    path = folder / "questions_32k.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        writer.writeheader()
        writer.writerows([row, {**row, "question_id": "u-2", "end_index_in_shared_context": "3"}])
    turns = [
        {"role": "system", "content": "You talk with Kim."},
        {"role": "user", "content": "User: I gave up tea,\nfor good."},
        {"role": "assistant", "content": "Later."},
    ]
    (folder / "shared_contexts_32k.jsonl").write_text(json.dumps({"c1": turns}) + "\n")
    return path


def test_locomo_is_read_session_by_session_with_its_images_and_kinds(tmp_path):
    found = read_published(write(tmp_path, "locomo10.json", LOCOMO))

    (history,) = found.histories()
    assert (found.name, found.format, found.total) == ("locomo10", "locomo", 3)
    assert [(one.session, one.speaker, one.text) for one in history.memories] == [
        ("session_2", "Nora", "I bought a kiln."),
        ("session_2", "Ivo", "Look! [shared image: a photo of a blue bowl]"),
        ("session_10", "Ivo", "The kiln is sold."),
    ]
    assert history.memories[0].occurred_at == datetime(2023, 6, 9, 19, 55, tzinfo=UTC)
    assert [(one.id, one.type, one.gold, one.criterion) for one in history.questions] == [
        ("talk-1/0", "single_hop", "a kiln", AnswerCriterion.ANSWER),
        ("talk-1/1", "temporal", "2024", AnswerCriterion.ANSWER),
        ("talk-1/2", "adversarial", "", AnswerCriterion.ABSTAIN),
    ]


def test_longmemeval_has_a_namespace_a_question_with_roles_and_dates(tmp_path):
    found = read_published(write(tmp_path, "longmemeval_s.json", LONGMEMEVAL))

    first, second = found.histories()
    assert (found.format, found.total) == ("longmemeval", 2)
    assert [(one.session, one.role) for one in first.memories] == [
        ("s_a", Role.USER),
        ("s_a", Role.AGENT),
        ("s_b", Role.USER),
    ]
    assert first.memories[2].occurred_at == datetime(2023, 5, 21, 10, tzinfo=UTC)
    (question,) = first.questions
    assert (question.criterion, question.asked_at) == (
        AnswerCriterion.UPDATE,
        datetime(2023, 5, 30, 23, 40, tzinfo=UTC),
    )
    assert [one.criterion for one in second.questions] == [AnswerCriterion.ABSTAIN]


def test_prefeval_has_preferences_that_are_said_chosen_or_implied(tmp_path):
    histories = list(read_published(write(tmp_path, "travel.json", PREFEVAL)).histories())

    assert [[one.text for one in history.memories] for history in histories] == [
        ["I never eat fish."],
        ["Which of these?", "1. A chain. 2. A small inn.", "The small inn.", "Good."],
        ["Trams keep me awake.", "I see.", "Last.", "Bye."],
    ]
    assert {one.criterion for history in histories for one in history.questions} == {AnswerCriterion.PREFERENCE}


@pytest.mark.parametrize("options", ["['(a) Tea.', '(b) Coffee.']", '["(a) Tea.", "(b) Coffee."]'])
def test_personamem_tells_a_question_nothing_of_what_comes_after_it(tmp_path, options):
    found = read_published(personamem(tmp_path, options))

    first, second = found.histories()
    assert (found.format, found.total) == ("personamem", 2)
    assert [one.text for one in first.memories] == ["You talk with Kim.", "User: I gave up tea,\nfor good."]
    assert len(second.memories) == 3
    (question,) = first.questions
    assert (question.gold, question.options, question.criterion) == (
        "b",
        ("(a) Tea.", "(b) Coffee."),
        AnswerCriterion.CHOICE,
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "it is no JSON"),
        ("[]", "it is no list of JSON objects"),
        ('[{"text": "x"}]', "locomo, longmemeval, prefeval, personamem"),
        (json.dumps([{"qa": []}]), "as locomo, after 0 conversations: a field is missing: 'conversation'"),
        (
            json.dumps([LONGMEMEVAL[0], {**LONGMEMEVAL[1], "haystack_dates": ["yesterday"]}]),
            "as longmemeval, after 1 conversations: time data 'yesterday'",
        ),
        (json.dumps([{**LONGMEMEVAL[0], "haystack_dates": []}]), "as longmemeval, after 0 conversations: zip()"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(tmp_path, content, says):
    path = tmp_path / "set.json"
    path.write_text(content)

    with pytest.raises(InvalidInput, match=r"The question set 'set\.json' cannot be used") as refusal:
        read_published(path)

    assert says in refusal.value.message


def test_personamem_without_its_contexts_is_refused(tmp_path):
    path = personamem(tmp_path)
    (tmp_path / "shared_contexts_32k.jsonl").unlink()

    with pytest.raises(InvalidInput, match=r"shared_contexts_32k\.jsonl cannot be read"):
        read_published(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_published(tmp_path / "none.json")
