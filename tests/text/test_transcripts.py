from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest

from memory.text.transcripts import (
    MAX_TEXT_CHARS,
    detect_format,
    locomo_moment,
    namespaces_of,
    parse_jsonl,
    parse_locomo,
    parse_transcript,
)


def lines(*entries: object) -> bytes:
    return b"\n".join(entry if isinstance(entry, bytes) else orjson.dumps(entry) for entry in entries)


def turns_of(transcript, name=""):
    assert not transcript.faults, [str(fault) for fault in transcript.faults]
    return transcript.conversations[name]


def locomo(**changes):
    conversation = {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_10_date_time": "12:05 am on 1 January, 2026",
        "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Happy new year!"}],
        "session_2_date_time": "1:56 pm on 8 May, 2025",
        "session_2": [
            {"speaker": "Ada", "dia_id": "D2:1", "text": "The kiln is fixed."},
            {"speaker": "Bo", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a blue bowl", "query": "bowl"},
            {"speaker": "Ada", "dia_id": "D2:3", "text": "", "query": "green glaze"},
        ],
        **changes,
    }
    return {"sample_id": "made-up-1", "conversation": conversation, "qa": [{"question": "?", "answer": "!"}]}


def test_jsonl_keeps_who_said_what_when_and_where() -> None:
    found = turns_of(
        parse_jsonl(
            lines(
                {
                    "text": "踩过的坑：回调会乱序。",
                    "role": "agent",
                    "speaker": "小舟",
                    "session_id": "weekly",
                    "occurred_at": "2026-05-08T15:00:00+02:00",
                    "metadata": {"source": {"page": 3}},
                },
                b"",
                {"content": "Noted.", "role": "assistant", "session": 7, "time": "2026-05-08T13:01:00"},
                {"text": "no more than this"},
            ),
            session="file",
        )
    )
    assert [(turn.session, turn.role, turn.speaker) for turn in found] == [
        ("weekly", "agent", "小舟"),
        ("7", "agent", ""),
        ("file", "user", ""),
    ]
    assert found[0].metadata == {"source": {"page": 3}}
    assert [turn.occurred_at for turn in found] == [
        datetime(2026, 5, 8, 13, tzinfo=UTC),
        datetime(2026, 5, 8, 13, 1, tzinfo=UTC),
        None,
    ]


def test_jsonl_reads_files_of_other_systems() -> None:
    found = turns_of(parse_jsonl(b"\xef\xbb\xbf" + b'{"text": "first"}\r\n{"text": "second"}\r\n', session="s"))
    assert [turn.text for turn in found] == ["first", "second"]


def test_jsonl_sorts_by_the_namespace_that_lines_name() -> None:
    entries = [{"text": "1", "namespace": "a"}, {"text": "2"}, {"text": "3", "namespace": "a"}]
    transcript = parse_jsonl(lines(*entries), session="s")
    assert {name: [turn.text for turn in turns] for name, turns in transcript.conversations.items()} == {
        "a": ["1", "3"],
        "": ["2"],
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        (b'{"text": "\\ud800"}', "is not valid JSON"),
        ([1, 2], "is not a JSON object"),
        ({"role": "user"}, "has no `text`"),
        ({"text": "  "}, "the text is empty"),
        ({"text": 5}, "the text is not a string"),
        ({"text": "nul \0 inside"}, "the text holds a NUL character"),
        ({"text": "x", "role": "robot"}, "`role` is 'robot'"),
        ({"text": "x", "role": ["user"]}, "`role` is ['user']"),
        ({"text": "x", "speaker": {"name": "Ann"}}, "`speaker` is not a string"),
        ({"text": "x", "session_id": "s" * 129}, "`session_id` has more than 128 characters"),
        ({"text": "x", "occurred_at": "yesterday"}, "`occurred_at` is 'yesterday'"),
        ({"text": "x", "time": 7}, "`time` is 7"),
        ({"text": "x", "time": "0001-01-01T00:00:00+05:00"}, "`time` is"),
        ({"text": "x", "metadata": "none"}, "`metadata` is not an object"),
        ({"text": "x", "metadata": {"a": ["\0"]}}, "`metadata.a[0]` holds a NUL character"),
        ({"text": "x", "metadata": {"a": [{"b": 1e20}]}}, "`metadata.a[0].b` holds a number that cannot be stored"),
        ({"text": "x", "metadata": {"a": "x" * 70_000}}, "`metadata` has more than 65536 bytes"),
        (b'{"text": "x", "metadata": {"a": ' + b"[" * 20 + b"]" * 20 + b"}}", "nested more than 16 levels"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_reason(line: object, reason: str) -> None:
    transcript = parse_jsonl(lines({"text": "good"}, line, {"text": "good too"}), session="s")
    assert [turn.text for turn in transcript.conversations[""]] == ["good", "good too"]
    (fault,) = transcript.faults
    assert fault.place == "line 2"
    assert reason in fault.reason


def test_locomo_keeps_roles_order_and_dates() -> None:
    found = turns_of(parse_locomo(orjson.dumps([locomo()])), "made-up-1")
    start = datetime(2025, 5, 8, 13, 56, tzinfo=UTC)
    assert [(turn.session, turn.role, turn.speaker, turn.occurred_at) for turn in found] == [
        ("session_2", "user", "Ada", start),
        ("session_2", "agent", "Bo", start + timedelta(seconds=1)),
        ("session_2", "user", "Ada", start + timedelta(seconds=2)),
        ("session_10", "agent", "Bo", datetime(2026, 1, 1, 0, 5, tzinfo=UTC)),
    ]
    assert [turn.text for turn in found] == [
        "The kiln is fixed.",
        "Look! [shares a photo: a blue bowl]",
        "[shares a photo: green glaze]",
        "Happy new year!",
    ]
    assert [turn.metadata["dia_id"] for turn in found] == ["D2:1", "D2:2", "D2:3", "D10:1"]


def test_locomo_takes_one_conversation_as_well() -> None:
    assert len(turns_of(parse_locomo(orjson.dumps(locomo())), "made-up-1")) == 4


@pytest.mark.parametrize(
    ("changes", "place", "reason", "lost"),
    [
        ({"session_2_date_time": "last week"}, "made-up-1 session_2", "session_2_date_time is not a date", 3),
        ({"session_2": {}}, "made-up-1 session_2", "is not a list of turns", 1),
        ({"session_10": [{"speaker": "Eve", "text": "hi"}]}, "made-up-1 session_10 turn 1", "'Eve' is neither", 1),
        ({"session_10": ["hi"]}, "made-up-1 session_10 turn 1", "is not a JSON object", 1),
        ({"session_10": [{"speaker": "Bo", "text": None}]}, "made-up-1 session_10 turn 1", "the text is empty", 1),
    ],
)
def test_locomo_names_the_place_of_what_it_cannot_read(changes: dict, place: str, reason: str, lost: int) -> None:
    transcript = parse_locomo(orjson.dumps([locomo(**changes)]))
    (fault,) = transcript.faults
    assert fault.place == place
    assert reason in fault.reason
    assert fault.turns == lost


def test_what_is_no_locomo_file_says_so() -> None:
    (fault,) = parse_locomo(b'[{"text": "a plain turn"}]').faults
    assert "use --format jsonl?" in str(fault)
    (broken,) = parse_locomo(b'[\n{"conversation": ').faults
    assert broken.place.startswith("line ")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9)),
        ("12:30 pm on 29 February, 2024", datetime(2024, 2, 29, 12, 30)),
        ("1:56 pm on 31 February, 2023", None),
        ("1:56 pm on 8 Mai, 2023", None),
        ("", None),
    ],
)
def test_locomo_moment(text: str, moment: datetime | None) -> None:
    assert locomo_moment(text) == (moment.replace(tzinfo=UTC) if moment else None)


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (orjson.dumps([locomo()]), "locomo"),
        (orjson.dumps(locomo(), option=orjson.OPT_INDENT_2), "locomo"),
        (b'{"text": "one line"}', "jsonl"),
        (b'{"text": "a"}\n{"text": "b"}', "jsonl"),
        (b'\xef\xbb\xbf \n[{"conversation": {}}]', "locomo"),
        (b"", "jsonl"),
    ],
)
def test_the_format_is_seen_in_the_file(data: bytes, format: str) -> None:
    assert detect_format(data) == format
    assert parse_transcript(data, session="s").format == format


def test_where_conversations_go() -> None:
    one = parse_locomo(orjson.dumps([locomo()]))
    two = parse_locomo(orjson.dumps([locomo(), {**locomo(), "sample_id": 7}]))
    plain = parse_jsonl(lines({"text": "1"}, {"text": "2", "namespace": "own"}), session="s")
    assert namespaces_of(one, wanted="", fallback="file") == {"made-up-1": "locomo-made-up-1"}
    assert namespaces_of(one, wanted="mine", fallback="file") == {"made-up-1": "mine"}
    assert namespaces_of(two, wanted="mine", fallback="file") == {"made-up-1": "mine-made-up-1", "7": "mine-7"}
    assert namespaces_of(plain, wanted="", fallback="file") == {"": "file", "own": "own"}
    assert namespaces_of(plain, wanted="mine", fallback="file") == {"": "mine", "own": "mine-own"}


def test_two_samples_of_one_name_are_one_conversation() -> None:
    transcript = parse_locomo(orjson.dumps([locomo(), locomo()]))
    assert len(turns_of(transcript, "made-up-1")) == 8


def test_an_offset_is_turned_into_utc() -> None:
    (turn,) = turns_of(parse_jsonl(lines({"text": "x", "time": "2026-01-01T01:00:00-05:00"}), session="s"))
    assert turn.occurred_at == datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=-5)))
    assert turn.occurred_at is not None
    assert turn.occurred_at.utcoffset() == timedelta(0)


def test_a_long_turn_becomes_several_and_loses_nothing() -> None:
    text = "We spoke of the garden. " * 1_100 + "I signed the lease in Graz."
    conversation = {
        "speaker_a": "Dana",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Dana", "dia_id": "D1:1", "text": text}],
    }
    for transcript in (
        parse_jsonl(lines({"speaker": "Dana", "text": text, "metadata": {"mood": "glad"}}), session="s"),
        parse_locomo(orjson.dumps([{"sample_id": "s", "conversation": conversation}])),
    ):
        (turns,) = transcript.conversations.values()
        assert not transcript.faults
        assert [turn.metadata["import"]["part"] for turn in turns] == ["1/2", "2/2"]
        assert {turn.speaker for turn in turns} == {"Dana"}
        assert all(len(turn.metadata) == 2 and len(turn.text) <= MAX_TEXT_CHARS for turn in turns)
        assert " ".join(turn.text for turn in turns) == text


def test_a_time_in_milliseconds_is_one() -> None:
    (turn,) = parse_jsonl(lines({"text": "x", "time": 1746712560000}), session="s").conversations[""]
    assert turn.occurred_at == datetime(2025, 5, 8, 13, 56, tzinfo=UTC)


def test_the_turns_of_the_calendars_last_minute_are_read() -> None:
    entries = [{"speaker": "Ada", "dia_id": f"D1:{number}", "text": f"Bang {number}."} for number in range(90)]
    data = locomo(session_1=entries, session_1_date_time="11:59 pm on 31 December, 9999")

    found = turns_of(parse_locomo(orjson.dumps([data])), "made-up-1")

    told = [turn.text for turn in sorted(found, key=lambda turn: turn.occurred_at) if "Bang" in turn.text]
    assert told == [entry["text"] for entry in entries]
