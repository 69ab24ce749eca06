"""Every text of an export is stored in a turn, or its message or part is counted with a reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.services.imports.detect import recognise
from memory.services.imports.survey import ImportSurvey, list_turns, look_over
from tests.services.imports.exports import GEMINI_PAGE, archive, chatgpt, claude, gemini, write

AT, MOMENT = 1756000000.0, datetime(2025, 8, 24, 1, 46, 40, tzinfo=UTC)


@dataclass(frozen=True)
class Kind:
    """A kind of message or part: its texts become a turn, or it is counted as `reason` (messages) or `part` (parts)."""

    content: Any
    reason: str = ""
    part: str = ""
    role: str = "user"
    more: Any = None


def parts(*values: Any) -> dict[str, Any]:
    return {"content_type": "multimodal_text", "parts": list(values)}


CHATGPT = [
    Kind({"content_type": "text", "parts": ["TEXT", "TEXT"]}),
    Kind({"content_type": "text", "parts": [""]}, reason="no_text"),
    Kind(None, reason="no_text"),
    Kind(parts("TEXT", {"content_type": "image_asset_pointer", "asset_pointer": "x"}), part="media"),
    Kind(
        parts("TEXT", {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": "TEXT"}}}),
        part="media",
    ),
    Kind(parts({"content_type": "image_asset_pointer", "asset_pointer": "x"}), reason="no_text"),
    Kind(
        parts(
            {"content_type": "audio_transcription", "text": "TEXT", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {"format": "wav"}},
        ),
        part="media",
    ),
    Kind(parts({"content_type": "audio_transcription", "text": "TEXT"}), role="assistant"),
    Kind(parts({"text": "TEXT"}, {"content_type": "not_known_yet", "parts": [{"text": "TEXT"}]})),
    Kind(parts("TEXT", {"content_type": "not_known_yet", "words": "TEXT"}), part="other"),
    Kind(parts({"content_type": "tether_quote", "title": "TEXT", "text": "TEXT", "url": "x"}), role="assistant"),
    Kind({"content_type": "tether_quote", "title": "TEXT", "text": "TEXT"}, role="tool", reason="tool"),
    Kind({"content_type": "tether_browsing_display", "result": "TEXT", "summary": "TEXT"}, role="assistant"),
    Kind(
        parts({"content_type": "sonic_webpage", "title": "TEXT", "text": "TEXT", "snippet": "TEXT"}), role="assistant"
    ),
    Kind({"content_type": "code", "language": "python", "text": "TEXT"}, role="assistant"),
    Kind({"content_type": "execution_output", "text": "TEXT"}, role="tool", reason="tool"),
    Kind({"content_type": "code", "text": "TEXT"}, role="assistant", more={"recipient": "python"}, reason="tool"),
    Kind({"content_type": "system_error", "name": "x", "text": "TEXT"}, role="tool", reason="tool"),
    Kind({"content_type": "thoughts", "thoughts": [{"content": "TEXT"}]}, role="assistant", reason="thought"),
    Kind({"content_type": "reasoning_recap", "content": "TEXT"}, role="assistant", reason="thought"),
    Kind({"content_type": "user_editable_context", "user_profile": "TEXT"}, reason="instructions"),
    Kind(
        {"content_type": "model_editable_context", "model_set_context": "TEXT"}, role="assistant", reason="instructions"
    ),
    Kind({"content_type": "text", "parts": ["TEXT"]}, role="system", reason="system"),
    Kind({"content_type": "text", "parts": ["TEXT"]}, role="critic", reason="other_role"),
    Kind(
        {"content_type": "text", "parts": ["TEXT"]},
        more={"metadata": {"is_visually_hidden_from_conversation": True}},
        reason="hidden",
    ),
    Kind(
        {"content_type": "text", "parts": ["TEXT"]},
        more={"metadata": {"citations": [{"metadata": {"text": "TEXT"}}]}},
        part="citation",
    ),
    Kind(
        {"content_type": "text", "parts": ["TEXT"]},
        more={"metadata": {"attachments": [{"name": "TEXT", "mime_type": "application/pdf"}]}},
        part="media",
    ),
]
CLAUDE = [
    Kind([{"type": "text", "text": "TEXT"}]),
    Kind([], more={"text": "TEXT"}),
    Kind([{"type": "text", "text": "TEXT"}], more={"text": "TEXT"}),
    Kind([], reason="no_text"),
    Kind([{"type": "voice_note", "title": "TEXT", "text": "TEXT"}]),
    Kind([{"type": "text", "text": "TEXT", "citations": [{"snippet": "TEXT"}]}], role="assistant", part="citation"),
    Kind([{"type": "thinking", "thinking": "TEXT"}], role="assistant", reason="thought"),
    Kind([{"type": "thinking", "thinking": "TEXT"}, {"type": "text", "text": "TEXT"}], part="thought"),
    Kind([{"type": "tool_use", "name": "search", "input": {"query": "TEXT"}}], role="assistant", reason="tool"),
    Kind(
        [{"type": "tool_result", "content": [{"type": "text", "text": "TEXT"}]}, {"type": "text", "text": "TEXT"}],
        role="assistant",
        part="tool",
    ),
    Kind(
        [{"type": "tool_use", "name": "artifacts", "input": {"title": "TEXT", "content": "TEXT", "id": "x"}}],
        role="assistant",
    ),
    Kind([{"type": "tool_use", "name": "create_file", "input": {"path": "x", "file_text": "TEXT"}}], role="assistant"),
    Kind([{"type": "text", "text": "TEXT"}, {"type": "token_budget"}]),
    Kind([{"type": "text", "text": "TEXT"}, {"type": "not_known_yet", "words": {"a": ["TEXT"]}}], part="other"),
    Kind([], more={"attachments": [{"file_name": "a.txt", "extracted_content": "TEXT"}]}),
    Kind(
        [{"type": "text", "text": "TEXT"}],
        more={"attachments": [{"file_name": "a.txt", "extracted_content": "TEXT"}], "files": [{"file_name": "b.png"}]},
        part="media",
    ),
]


class Filler:
    """Replaces each TEXT by a unique text."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def fill(self, value: Any) -> Any:
        if value == "TEXT":
            self.texts.append(f"Words number {len(self.texts)}, of nobody else.")
            return self.texts[-1]
        if isinstance(value, dict):
            return {name: self.fill(inner) for name, inner in value.items()}
        return [self.fill(inner) for inner in value] if isinstance(value, list) else value


def make_chatgpt(kinds: list[Kind], filler: Filler) -> tuple[dict[str, Any], list[list[str]]]:
    mapping: dict[str, Any] = {"root": {"parent": None, "children": ["n0"], "message": None}}
    texts = []
    for number, kind in enumerate(kinds):
        before = len(filler.texts)
        message = {
            "id": f"m{number}",
            "author": {"role": kind.role},
            "create_time": AT + number,
            "content": filler.fill(kind.content),
            **(filler.fill(kind.more) or {}),
        }
        parent = f"n{number - 1}" if number else "root"
        mapping[f"n{number}"] = {"parent": parent, "children": [f"n{number + 1}"], "message": message}
        texts.append(filler.texts[before:])
    last = f"n{len(kinds) - 1}"
    return {"id": "c", "title": "", "create_time": AT, "mapping": mapping, "current_node": last}, texts


def make_claude(kinds: list[Kind], filler: Filler) -> tuple[dict[str, Any], list[list[str]]]:
    messages, texts = [], []
    for number, kind in enumerate(kinds):
        before = len(filler.texts)
        message = {
            "uuid": f"m{number}",
            "sender": "human" if kind.role == "user" else kind.role,
            "created_at": "2026-01-02T03:04:06Z",
            "text": "",
            "content": filler.fill(kind.content),
            **(filler.fill(kind.more) or {}),
        }
        messages.append(message)
        texts.append(filler.texts[before:])
    return {"uuid": "c", "name": "", "created_at": "2026-01-02T03:04:06Z", "chat_messages": messages}, texts


def survey_of(content: Any) -> tuple[ImportSurvey, list[Any]]:
    with TemporaryDirectory() as folder:
        recognised = recognise(write(Path(folder), content))
        return look_over(recognised), list(list_turns(recognised, speaker=""))


@pytest.mark.parametrize(("kinds", "make"), [(CHATGPT, make_chatgpt), (CLAUDE, make_claude)], ids=["chatgpt", "claude"])
@given(data=st.data())
def test_each_text_is_in_a_turn_or_counted_with_a_reason(kinds, make, data):
    chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=12))
    filler = Filler()
    conversation, texts = make(chosen, filler)
    survey, turns = survey_of([conversation])

    assert survey.messages == len(chosen) == survey.turns + survey.left_out.total()
    assert survey.left_out == Counter(kind.reason for kind in chosen if kind.reason)
    assert survey.parts_left_out == Counter(kind.part for kind in chosen if kind.part)
    stored = "\n".join(turn.memory.text for turn in turns)
    for kind, own in zip(chosen, texts, strict=True):
        missing = [text for text in own if text not in stored]
        # A counted part has one text; a message that is left out has all of its texts.
        assert len(missing) == (len(own) if kind.reason else min(len(missing), 1) if kind.part else 0)


def test_messages_on_other_branches_are_counted():
    conversation, _ = make_chatgpt([Kind({"content_type": "text", "parts": ["TEXT"]})] * 3, Filler())
    survey, _ = survey_of([{**conversation, "current_node": "n0"}])

    assert (survey.messages, survey.turns, survey.left_out) == (3, 1, {"branch": 2})


def test_a_message_that_becomes_several_turns_is_one_of_the_file():
    conversation, _ = make_claude([Kind([{"type": "text", "text": "word " * 10_000}]), CLAUDE[0]], Filler())
    survey, turns = survey_of([conversation])

    assert (survey.messages, survey.turns, survey.unreadable) == (2, 4, 0)
    assert [turn.piece for turn in turns] == [1, 2, 3, 1]


def test_messages_that_a_reader_loses_are_said(monkeypatch):
    monkeypatch.setattr("memory.services.imports.claude._count", lambda raw: 5)
    survey, _ = survey_of([claude()])

    assert (survey.messages, survey.turns, survey.unreadable) == (5, 2, 3)
    assert survey.faults == [{"place": "the file", "reason": "3 of its messages were not found again"}]


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000, 1_000_000_000])
@pytest.mark.parametrize("write_down", [float, int, lambda number: str(int(number))])
def test_a_time_in_any_unit_is_the_same_moment(unit, write_down):
    at = write_down(AT * unit)
    conversation, _ = make_chatgpt([CHATGPT[0]], Filler())
    conversation["mapping"]["n0"]["message"]["create_time"] = at
    dated = claude()
    dated["chat_messages"][0]["created_at"] = at
    memory = {"memory": "Ada lives in Graz.", "user_id": "ada", "created_at": at}
    for content in ([conversation], [dated], [memory]):
        _, turns = survey_of(content)
        assert turns[0].memory.occurred_at == MOMENT


def test_texts_of_claudes_projects_and_their_summaries():
    project = {
        "uuid": "p1",
        "name": "Harbour",
        "description": "A harbour in Graz.",
        "prompt_template": "Answer briefly.",
        "created_at": "2026-01-02T03:04:05Z",
        "docs": [{"uuid": "d1", "filename": "plan.md", "content": "It opens in May.", "created_at": None}],
    }
    files = archive({"conversations.json": [{**claude(), "summary": "Of planes."}], "projects.json": [project]})
    survey, turns = survey_of(files)

    assert [turn.memory.text for turn in turns[2:]] == ["A harbour in Graz.", "Answer briefly.", "It opens in May."]
    assert {turn.memory.session for turn in turns[2:]} == {"claude/project/p1"}
    assert (survey.messages, survey.turns, survey.parts_left_out) == (5, 5, {"thought": 1, "media": 1, "summary": 1})


def test_an_entry_of_gemini_by_its_title_and_its_page():
    entry = {
        "header": "Gemini Apps",
        "title": "Prompted Where is Linz?",
        "time": "2026-02-03T10:00:00Z",
        "subtitles": [{"name": "Attached 1 file."}],
        "safeHtmlItem": [{"html": "<p>In <b>France</b>.</p>"}],
    }
    survey, turns = survey_of([entry, {"header": "Gemini Apps", "title": "Prompted"}, *gemini()])

    assert {"Where is Linz?", "In France."} <= {turn.memory.text for turn in turns}
    assert (survey.messages, survey.turns, survey.left_out, survey.parts_left_out) == (
        7,
        6,
        {"no_text": 1},
        {"media": 1},
    )


def test_an_entry_of_geminis_page_that_cannot_be_made_out_is_counted():
    page = GEMINI_PAGE.replace("</body>", '<div class="outer-cell mdl-cell"><p>Nothing</p></div></body>')
    survey, _ = survey_of(page.encode())

    assert (survey.messages, survey.turns, survey.left_out) == (3, 2, {"no_text": 1})


@pytest.mark.parametrize("levels", [1, 2])
def test_a_zip_within_a_zip(levels):
    first = archive({"conversations.json": [chatgpt("c1")], "picture.png": b"\x89PNG"})
    second = archive({"conversations.json": [chatgpt("c2")]})
    whole = archive({"export.json.zip": first, "other.ZIP": second, "__MACOSX/._x": b"\0"})
    for _ in range(levels - 1):
        whole = archive({"file.zip": whole})
    with TemporaryDirectory() as folder:
        recognised = recognise(write(Path(folder), whole, "file.zip"))
        survey = look_over(recognised)

    assert (survey.conversations, survey.turns, survey.messages) == (2, 6, 14)
    assert survey.parts_left_out == {"media": 2, "file": 1}
