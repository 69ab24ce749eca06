from __future__ import annotations

from memory.text.utterances import statements


def test_a_plain_text_is_one_turn_of_its_speaker() -> None:
    text = "I live in Lisbon. I work at the mill."
    found = statements(text, speaker="Ann")

    assert [(one.text, one.turn, one.speaker) for one in found] == [
        ("I live in Lisbon.", 0, "Ann"),
        ("I work at the mill.", 0, "Ann"),
    ]
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]


def test_a_transcript_is_cut_into_its_turns() -> None:
    text = "user: I like jazz. Really.\nassistant: Noted!\nBea: Me too."
    found = statements(text)

    assert [(one.text, one.turn, one.speaker, one.by_agent) for one in found] == [
        ("I like jazz.", 0, "", False),
        ("Really.", 0, "", False),
        ("Noted!", 1, "/assistant", True),
        ("Me too.", 2, "/Bea", False),
    ]
    assert all(text[one.start : one.end] == one.text for one in found)


def test_a_label_makes_nobody_the_speaker_of_a_memory() -> None:
    found = statements("user: I like jazz.\nBea: Me too.", speaker="Ann")

    assert [one.speaker for one in found] == ["Ann", "Ann/Bea"]


def test_white_space_is_evened_out_and_the_place_is_kept() -> None:
    text = "I" + " " * 390 + "stay."

    assert [(one.text, one.start, one.end) for one in statements(text)] == [("I stay.", 0, len(text))]


def test_a_label_in_the_middle_makes_no_transcript() -> None:
    assert {one.turn for one in statements("What I need.\nNote: buy milk.\nNote: buy bread.")} == {0}


def test_what_is_told_is_parted_from_what_is_asked() -> None:
    text = "I have never sailed, so can you tell me how?"

    assert [one.text for one in statements(text)] == ["I have never sailed", ", so can you tell me how?"]


def test_chinese_turns() -> None:
    found = statements("用户: 我住在巴黎。\n助手: 好的。")

    assert [(one.text, one.by_agent) for one in found] == [("我住在巴黎。", False), ("好的。", True)]


def test_an_empty_text_says_nothing() -> None:
    assert statements(" \n ") == []
