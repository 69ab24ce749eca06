"""A reasoning model's thinking is separated from its answer: whole, and cut at every place of a stream."""

from __future__ import annotations

import pytest

from memory.text.thinking import ThinkingFilter, remove_thinking

THOUGHT = {
    "a block": ("<think>Tea?\nThe notes say so.</think>\n\nIt is oolong.", "It is oolong."),
    "an empty block": ("<think>\n\n</think>\n\nIt is oolong.", "It is oolong."),
    "two blocks": ("<think>a</think>\n<think>b</think> It is oolong.", "It is oolong."),
    "behind white space": ("\n <think>a</think>It is oolong.", "It is oolong."),
    "in capitals": ("<THINK>a</Think>It is oolong.", "It is oolong."),
    "another name": ("<thinking>a</thinking>It is oolong.", "It is oolong."),
    "brackets": ("[THINK]a[/THINK]It is oolong.", "It is oolong."),
    "triangles": ("◁think▷a◁/think▷It is oolong.", "It is oolong."),
    "between sentences": ("Sure. <think>a</think>It is oolong.", "Sure. It is oolong."),
    "between lines": ("Sure,\n<think>a</think>it is oolong.", "Sure,\nit is oolong."),
    "a tag within": ("<think>a <think> b</think>It is oolong.", "It is oolong."),
    "nothing but thinking": ("<think>a</think>", ""),
    "cut off while thinking": ("<think>It may be oolong.", ""),
}
NOTHING_THOUGHT = [
    "",
    " It is oolong.\n",
    "a < b, [1] and <thin> paper",
    "The `<think>` tag opens what `</think>` closes.",
    'It writes "<think>" first.',
    "The <think> tag and its content",
    "Write:\n```\n<think>a</think>\n```\nand close it.",
    "Write:\n```\na</think>\n```\nand close it.",
    "It is written so:\n<think>",
    "It is oolong <",
]


@pytest.mark.parametrize(("text", "said"), THOUGHT.values(), ids=THOUGHT)
def test_thinking_is_removed(text, said):
    assert remove_thinking(text) == said


@pytest.mark.parametrize("text", NOTHING_THOUGHT)
def test_a_text_that_speaks_of_tags_stays_as_it_is(text):
    assert remove_thinking(text) == text


@pytest.mark.parametrize(
    "text", ["The notes\nspeak.\n</think>\n\nIt is oolong.", "The notes speak.</think>It is oolong."]
)
def test_thinking_whose_opening_tag_the_template_wrote_is_removed(text):
    assert remove_thinking(text) == "It is oolong."


@pytest.mark.parametrize(
    ("text", "said"), [*((text, said) for text, said in THOUGHT.values()), *((one, one) for one in NOTHING_THOUGHT)]
)
@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_stream_says_the_same_wherever_it_is_cut(text, said, length):
    thinking = ThinkingFilter()
    pieces = [thinking.feed(text[place : place + length]) for place in range(0, len(text), length)]

    assert "".join([*pieces, thinking.end()]).lstrip() == said.lstrip()


def test_what_is_no_tag_waits_no_longer_than_it_may_become_one():
    thinking = ThinkingFilter()

    assert [thinking.feed(piece) for piece in ("a ", "<", "b [", "1]")] == ["a ", "", "<b ", "[1]"]
