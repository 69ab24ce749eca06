from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from memory.services.imports import container
from memory.services.imports.detect import recognise
from memory.services.imports.source import SourceTurn
from memory.services.imports.survey import look_over
from tests.services.imports.exports import GEMINI_PAGE, archive, chatgpt, claude, gemini, write


def read(path: Path, **options: Any) -> list[SourceTurn]:
    return [turn for one in recognise(path, **options).conversations() for turn in one.turns]


def told(path: Path, **options: Any) -> list[tuple[str, str]]:
    return [(turn.memory.role, turn.memory.text) for turn in read(path, **options)]


def test_of_chatgpt_only_what_was_shown_last_comes_along(tmp_path):
    path = write(tmp_path, [chatgpt()])

    assert told(path) == [("user", "I get sick on planes."), ("agent", "Then take the train."), ("user", "Gladly.")]
    survey = look_over(recognise(path))
    assert survey.left_out == {"branch": 1, "tool": 2, "system": 1}
    assert (survey.format, survey.turns, survey.conversations, survey.unreadable) == ("chatgpt", 3, 1, 0)
    assert survey.first_at == datetime(2024, 7, 1, 10, 33, 21, tzinfo=UTC)


def test_a_turn_without_a_date_has_that_of_the_message_before(tmp_path):
    turns = read(write(tmp_path, [chatgpt()]))

    assert turns[1].memory.occurred_at == datetime(2024, 7, 1, 10, 33, 22, 700_000, tzinfo=UTC)
    assert turns[1].memory.metadata["import"] == {
        "from": "chatgpt",
        "conversation": "c1",
        "title": "Trip",
        "message": "c1-n3",
        "model": "gpt-4o",
    }


def test_without_a_current_node_the_last_branch_counts(tmp_path):
    assert told(write(tmp_path, [chatgpt(current_node=None)]))[-1] == ("user", "Gladly.")


def test_a_ring_of_nodes_ends(tmp_path):
    conversation = chatgpt()
    conversation["mapping"]["root"]["parent"] = "n4"

    assert len(told(write(tmp_path, [conversation]))) == 3


def test_what_is_no_conversation_is_a_fault_and_the_others_come(tmp_path):
    path = write(tmp_path, [chatgpt(), {"mapping": "none"}, 7, chatgpt("c2")])

    survey = look_over(recognise(path))
    assert survey.turns == 6
    assert [fault["place"] for fault in survey.faults] == ["conversation 2", "conversation 3"]
    assert "not the shape of an export of chatgpt" in survey.faults[0]["reason"]


def test_claude_without_its_thoughts(tmp_path):
    path = write(tmp_path, [claude()])

    assert told(path) == [("user", "I get sick on planes."), ("agent", "Then take the train.")]
    assert read(path)[0].memory.session == "claude/u1"
    assert read(path)[0].memory.occurred_at == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)


def test_what_claude_keeps_of_a_person(tmp_path):
    kept = [{"conversations_memory": "Ada takes trains.", "project_memories": {"p1": "The harbour opens in May."}}]
    file = archive({"conversations.json": [claude()], "memories.json": kept, "users.json": [{"uuid": "a"}]})

    turns = read(write(tmp_path, file, "claude.zip"))
    assert [turn.memory.text for turn in turns[2:]] == ["Ada takes trains.", "The harbour opens in May."]
    assert turns[2].memory.occurred_at is None


def test_gemini_in_the_order_of_time(tmp_path):
    turns = read(write(tmp_path, gemini(), "MyActivity.json"))

    assert [turn.memory.text for turn in turns] == ["I live in Graz.", "Noted.", "Where is Lyon?", "In France."]
    assert [turn.memory.session for turn in turns[1:3]] == ["gemini/2026-02-02", "gemini/abc123"]
    assert [turn.key for turn in read(write(tmp_path, gemini(), "again.json"))] == [turn.key for turn in turns]


def test_geminis_page(tmp_path):
    turns = read(write(tmp_path, GEMINI_PAGE.encode(), "MyActivity.html"))

    assert [(turn.memory.role, turn.memory.text) for turn in turns] == [
        ("user", "I live in Graz."),
        ("agent", "Noted."),
    ]
    assert turns[0].memory.occurred_at == datetime(2026, 2, 17, 15, 8, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "text", "day"),
    [
        ("[2024-05-01] - I like trains.", "I like trains.", "2024-05-01"),
        ("- [2024-05-01] – I like trains.", "I like trains.", "2024-05-01"),
        ("3. 2024-05-01: I like trains.", "I like trains.", "2024-05-01"),
        ("[May 1, 2024] - I like trains.", "I like trains.", "2024-05-01"),
        ("[2024年5月1日] - 我喜欢火车。", "我喜欢火车。", "2024-05-01"),
        ("[unknown] - I like trains.", "I like trains.", None),
        ("[未知] - 我喜欢火车。", "我喜欢火车。", None),
        ("[Travel] - I like trains.", "[Travel] - I like trains.", None),
        ("* I like trains.", "I like trains.", None),
        ("I like trains - mostly.", "I like trains - mostly.", None),
    ],
)
def test_pasted_lines(tmp_path, line, text, day):
    (turn,) = read(write(tmp_path, f"# What I know\n\n```text\n{line}\n```\n".encode(), "memories.txt"))

    assert turn.memory.text == text
    assert (turn.memory.occurred_at and turn.memory.occurred_at.date().isoformat()) == day


def test_a_pasted_date_that_is_none_is_a_fault(tmp_path):
    path = write(tmp_path, b"[2024-13-41] - I like trains.\n[2024-05-01] - I live in Graz.\n", "memories.txt")

    survey = look_over(recognise(path))
    assert (survey.turns, survey.unreadable) == (1, 1)
    assert survey.faults[0]["place"] == "line 1"


def test_hindsights_list(tmp_path):
    item = {
        "id": "m1",
        "text": "Ada gets sick on planes.",
        "context": "travel",
        "date": "2025-02-03T00:00:00Z",
        "fact_type": "world",
        "document_id": "trip",
        "mentioned_at": "2025-02-03T04:05:06Z",
        "occurred_start": "2025-02-03T04:05:06Z",
        "tags": ["travel"],
        "metadata": {"topic": "health"},
        "state": "valid",
    }
    own = {**item, "id": "m2", "text": "I looked for trains.", "fact_type": "experience", "document_id": None}
    page = {"items": [item, own, {**item, "id": "m3", "state": "invalidated"}], "total": 3, "limit": 100, "offset": 0}

    for content in (page, [page], [item, own, {**item, "state": "invalidated"}]):
        turns = read(write(tmp_path, content))
        assert [turn.memory.role for turn in turns] == ["user", "agent"]
        assert [turn.memory.session for turn in turns] == ["hindsight/trip", "hindsight/2025-02-03"]
        assert turns[0].memory.metadata == {
            "topic": "health",
            "tags": ["travel"],
            "import": {"from": "hindsight", "id": "m1", "context": "travel", "kind": "world"},
        }
        assert look_over(recognise(tmp_path / "export.json")).left_out == {"invalidated": 1}


def pam(identity: str = "c1", **links: str) -> dict[str, Any]:
    """Return a conversation in Portable AI Memory; `links` gives some messages their predecessor."""
    said = {
        "m1": ("user", "I sleep badly near stations."),
        "m2": ("assistant", "Then a hotel at the station."),
        "m3": ("user", "No, away from it!"),
        "m4": ("assistant", "Then a hotel at the lake."),
        "m5": ("system", "Be brief."),
        "m6": ("user", "Gladly."),
    }
    messages = [
        {
            "id": name,
            "role": role,
            "content": {"type": "text", "text": text},
            "created_at": f"2026-03-01T10:00:0{name[1]}Z",
            **({"parent_id": links[name]} if name in links else {}),
        }
        for name, (role, text) in said.items()
    ]
    head = {"schema": "portable-ai-memory-conversation", "schema_version": "1.0", "title": "Trip"}
    dates = {"created_at": "2026-03-01T10:00:00Z"}
    return {**head, "id": identity, "provider": {"name": "chatgpt"}, "temporal": dates, "messages": messages}


IN_A_ROW = {"m2": "m1", "m3": "m2", "m4": "m3", "m5": "m4", "m6": "m5"}


@pytest.mark.parametrize("links", [{}, IN_A_ROW, {**IN_A_ROW, "m1": "m6"}, {"m2": "elsewhere"}])
def test_a_conversation_of_pam(tmp_path, links):
    path = write(tmp_path, pam(**links))

    turns = read(path)
    assert [turn.memory.role for turn in turns] == ["user", "agent", "user", "agent", "user"]
    assert {turn.memory.session for turn in turns} == {"pam/c1"}
    assert turns[0].memory.occurred_at == datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)
    assert turns[0].memory.metadata["import"]["title"] == "Trip"
    survey = look_over(recognise(path))
    assert (survey.format, survey.left_out, survey.unreadable) == ("pam", {"system": 1}, 0)


def test_of_pams_branches_the_one_of_the_last_message_comes_along(tmp_path):
    path = write(tmp_path, pam(m2="m1", m3="m2", m4="m1", m6="m4"))

    assert [text for _, text in told(path)] == ["I sleep badly near stations.", "Then a hotel at the lake.", "Gladly."]
    assert look_over(recognise(path)).left_out == {"branch": 2, "system": 1}


def test_a_zip_of_pams_conversations(tmp_path):
    file = archive({"conversations/a.json": pam("a"), "conversations/b.json": pam("b"), "c.json": {**pam(), "id": 7}})
    path = write(tmp_path, file, "pam.zip")

    assert [turn.memory.session for turn in read(path)] == ["pam/a"] * 5 + ["pam/b"] * 5
    assert look_over(recognise(path)).unreadable == 6


def test_a_zip_with_folders_and_pictures(tmp_path):
    file = archive(
        {
            "export/conversations-001.json": [chatgpt("c2")],
            "export/conversations-000.json": [chatgpt("c1")],
            "export/message_feedback.json": [{"id": "f", "user_id": "u", "rating": "up"}],
            "export/user.json": {"id": "u", "email": "ada@example.org"},
            "export/picture.png": b"\x89PNG\0",
            "__MACOSX/export/._conversations.json": b"\0\5\x16",
        }
    )
    turns = read(write(tmp_path, file, "export.zip"))

    assert [turn.memory.session for turn in turns] == ["chatgpt/c1"] * 3 + ["chatgpt/c2"] * 3


def test_exports_of_two_programs_in_one_zip(tmp_path):
    path = write(tmp_path, archive({"a.json": [chatgpt()], "b.json": [claude()]}), "both.zip")

    with pytest.raises(Exception, match=r"several programs \(chatgpt, claude\)"):
        recognise(path)
    assert len(read(path, format="claude")) == 2


def test_a_long_text_becomes_several_turns(tmp_path):
    conversation = claude()
    conversation["chat_messages"][0]["content"] = []
    conversation["chat_messages"][0]["text"] = "\n".join(f"Line {number} of what I pasted." for number in range(2000))

    turns = read(write(tmp_path, [conversation]))[:-1]
    assert [turn.memory.metadata["import"]["part"] for turn in turns] == ["1/3", "2/3", "3/3"]
    assert "\n".join(turn.memory.text for turn in turns) == conversation["chat_messages"][0]["text"]
    assert len({turn.key for turn in turns}) == 3


def test_what_cannot_be_stored_is_replaced(tmp_path):
    content = orjson.dumps([claude()]).replace(b"sick on", b"sick \\u0000 \\ud83d on")

    assert told(write(tmp_path, content))[0][1].startswith("I get sick \ufffd ")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    assert len(told(write(tmp_path, b"\xef\xbb\xbf" + orjson.dumps([claude()])))) == 2


def test_a_moment_without_an_offset_is_utc(tmp_path):
    activity, conversation = gemini(), claude()
    activity[0]["time"] = "2026-02-03T10:00:00"
    conversation["created_at"] = conversation["chat_messages"][0]["created_at"] = "2026-01-02T03:04:06"

    assert read(write(tmp_path, activity))[-1].memory.occurred_at == datetime(2026, 2, 3, 10, tzinfo=UTC)
    assert read(write(tmp_path, [conversation]))[0].memory.occurred_at == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "no date", 7, "9999-12-31T23:59:59-14:00"])
def test_a_date_that_is_none_is_a_fault(tmp_path, at):
    conversation = claude()
    del conversation["chat_messages"][1]
    conversation["chat_messages"][0]["created_at"] = at
    for content in ([conversation], [{"memory": "Ada lives in Graz.", "user_id": "ada", "created_at": at}]):
        survey = look_over(recognise(write(tmp_path, content)))
        assert (survey.turns, survey.unreadable) == (0, 1)


@pytest.mark.parametrize("at", [1e300, -1e300, "soon"])
def test_a_conversation_that_began_when_no_clock_was_keeps_its_messages(tmp_path, at):
    survey = look_over(recognise(write(tmp_path, [chatgpt(create_time=at), chatgpt("c2")])))

    assert (survey.turns, survey.unreadable) == (6, 0)
    assert survey.faults[0]["place"] == "conversation 1, its beginning"


SIMPLIFIED = "我坐飞机会晕机，下次去里昂还是坐火车吧。"
TRADITIONAL = "我坐飛機會暈機，下次去里昂還是坐火車吧。"


@pytest.mark.parametrize("is_zip", [False, True], ids=["plain", "zip"])
@pytest.mark.parametrize(
    ("encoding", "text", "guessed"),
    [
        ("utf-8-sig", SIMPLIFIED, None),
        ("utf-16", SIMPLIFIED, None),
        ("utf-32", SIMPLIFIED, None),
        ("utf-16-le", SIMPLIFIED, "utf-16-le"),
        ("utf-16-be", TRADITIONAL, "utf-16-be"),
        ("gbk", SIMPLIFIED, "gb18030"),
        ("big5", TRADITIONAL, "big5hkscs"),
        ("cp932", "飛行機では酔うので、次は電車で行きます。", "cp932"),
        ("cp949", "비행기를 타면 멀미를 합니다. 기차로 가겠습니다.", "cp949"),
        ("cp1252", "I get sick on planes – say “no” to them, naïve café.", "cp1252"),
    ],
)
def test_an_export_of_any_encoding(tmp_path, encoding, text, guessed, is_zip):
    exported = claude()
    exported["chat_messages"][0].update(text=text, content=[{"type": "text", "text": text}])
    content = json.dumps([exported], ensure_ascii=False).encode(encoding)
    path = write(tmp_path, archive({"conversations.json": content}), "a.zip") if is_zip else write(tmp_path, content)

    assert told(path)[0] == ("user", text)
    notes = look_over(recognise(path)).notes
    assert [guessed in note for note in notes] == ([True] if guessed else [])


def test_lines_in_another_encoding(tmp_path):
    path = write(tmp_path, f"[2026-05-08] - {SIMPLIFIED}\n- {SIMPLIFIED}\n".encode("gbk"), "lines.txt")
    assert told(path) == [("user", SIMPLIFIED)] * 2


def test_a_file_is_read_in_its_encoding_beyond_what_was_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "_LOOKED_AT_BYTES", 4_999)
    lines = "".join(f"- {SIMPLIFIED}{number}\n" for number in range(1_000))
    for encoding in ("gbk", "utf-16"):
        turns = told(write(tmp_path, lines.encode(encoding), "lines.txt"))
        assert [text for _, text in turns] == [f"{SIMPLIFIED}{number}" for number in range(1_000)]
