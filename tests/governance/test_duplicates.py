from __future__ import annotations

import pytest

from memory.enums import Sameness
from memory.governance.duplicates import fingerprint, sameness


def test_exact_duplicates_share_a_fingerprint() -> None:
    assert fingerprint("I like  JAZZ!") == fingerprint("i like jazz") != fingerprint("I like chess")
    assert sameness("I like  JAZZ!", "i like jazz.") is Sameness.EXACT
    assert sameness("我喜欢爵士乐。", "我喜欢爵士乐") is Sameness.EXACT


def test_nearly_the_same_words_restate() -> None:
    one, other = "We will meet Anna at the old mill by the river.", "We will meet Anna at the old mill by that river."
    assert sameness(one, other) is Sameness.RESTATES


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The train leaves at 3 for Oslo.", "The train leaves at 4 for Oslo."),
        ("I like jazz.", "I do not like jazz."),
        ("Is the mill open?", "The mill is open."),
        ("我喜欢爵士乐。", "我不喜欢爵士乐。"),
    ],
)
def test_numbers_negations_and_questions_make_a_difference(one: str, other: str) -> None:
    assert sameness(one, other, cosine=0.99) is Sameness.DIFFERENT


def test_swapped_words_of_a_long_text_say_something_else() -> None:
    said = (
        "The old council of the northern valley was formed in spring when the {} guild joined the {} guild of bakers."
    )
    one, other = said.format("river", "mountain"), said.format("mountain", "river")
    assert sameness(one, other, cosine=0.99) is Sameness.DIFFERENT


def test_short_texts_in_other_words_are_near_when_the_model_says_so() -> None:
    one, other = "How do I reset my password?", "How can my password be reset?"
    assert sameness(one, other, cosine=0.9) is Sameness.NEAR
    assert sameness(one, other, cosine=0.5) is Sameness.DIFFERENT
    assert sameness(one, other) is Sameness.DIFFERENT
