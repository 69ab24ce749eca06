"""Importance: parts that add up, between 0 and 1, and the differences they make."""

from __future__ import annotations

import pytest

from memory.gate.policy import GatePolicy
from memory.gate.worth import worth
from memory.governance.importance import Learned, importance, specificity
from memory.kinds import EPISODE_BELOW
from memory.text.analysis import terms
from tests.text.standing_orders import ORDERS


def of(text: str, role: str = "user", **learned: int):
    return importance(text, role, set(terms(text)), Learned(**learned))


TEXTS = (
    "",
    "Thanks!",
    "哈哈，好的",
    "😀",
    "My sister Inès gets married in Lyon on 12 June 2027.",
    "我在里斯本住了3年，妹妹叫小雨，手机是138开头的。",
    "Zürich NATO IBM “Moby Dick” 《红楼梦》 1 2 3 4 5 " + " ".join(f"word{number}" for number in range(500)),
    "\u200b" * 50,
    "Always answer in French, " + " ".join(f"word{number}" for number in range(500)) + " as Ann and NATO said, 1 2.",
)
LEARNED = (
    {},
    {"repeats": 10**9, "useful": 10**6, "uses": 10**9},
    {"not_useful": 10**6},
    {"repeats": 0, "uses": 0},
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("role", ["user", "agent", "system", "tool"])
@pytest.mark.parametrize("learned", LEARNED)
@pytest.mark.parametrize("small_talk", [False, True])
def test_the_shares_add_up_to_a_value_between_0_and_1(text, role, learned, small_talk):
    found = importance(text, role, set(terms(text)), Learned(**learned), small_talk=small_talk)

    assert 0 <= found.value <= 1
    assert sum(found.shares.values()) == pytest.approx(found.value, abs=1e-9)


def test_what_is_known_when_it_is_written_has_no_learned_parts():
    found = importance("Tea.", "user", {"tea"})

    assert list(found.shares) == ["base", "role", "specificity", "names", "numbers"]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I moved to Lisbon in March 2024 with my brother Tom.", "That is so nice to hear, thank you!"),
        ("我去年搬到了里斯本，和哥哥开了一家陶艺店。", "好的，谢谢你！"),
        ("The invoice is due on 14 May.", "The invoice is due soon."),
        ("We met Priya at the office.", "We met people at the office."),
    ],
)
def test_a_fact_counts_more_than_talk(more, less):
    assert of(more).value > of(less).value


@pytest.mark.parametrize("text", ["Thanks!", "Sounds good, see you!", "好的", "Wow, that is amazing!"])
def test_small_talk_is_an_episode(text):
    assert of(text).value < EPISODE_BELOW


def test_what_the_gate_takes_for_small_talk_becomes_an_episode_unless_it_is_specific():
    vague, specific = "The garden by the lake looked lovely in that light, with roses everywhere.", TEXTS[6]

    def talk(text: str) -> float:
        return importance(text, "user", set(terms(text)), small_talk=True).value

    assert of(vague).value > EPISODE_BELOW > talk(vague)
    assert talk(specific) > EPISODE_BELOW


def test_each_learned_part_moves_the_value_its_way():
    text = "The kiln fires at 1,240 degrees."
    plain = of(text).value

    assert of(text, repeats=3).shares["repetition"] > 0
    assert of(text, uses=3).value > plain
    assert of(text, useful=1).value > plain > of(text, not_useful=1).value
    assert of(text, useful=2, not_useful=2).shares["feedback"] == 0


@pytest.mark.parametrize("order", [*ORDERS, "Always be brief.", "Call me Ann."])
def test_no_order_of_a_person_is_an_episode(order):
    talk = worth(order).score < GatePolicy().worth_threshold

    assert importance(order, "user", set(terms(order)), small_talk=talk).value >= EPISODE_BELOW


def test_an_order_is_no_part_of_what_an_agent_says():
    order = "Always cite your sources."

    assert "order" in of(order).shares
    assert "order" not in importance(order, "agent", set(terms(order))).shares


def test_thanks_said_again_and_again_stays_an_episode():
    assert of("Thanks!", repeats=10_000).value < EPISODE_BELOW


def test_the_first_person_is_no_name():
    assert of("yesterday, I think, I've seen it").shares["names"] == 0


def test_what_is_read_of_a_long_text_is_bounded():
    looked_at = 0

    class Counted(str):
        def __getitem__(self, place):
            nonlocal looked_at
            looked_at += 1
            return super().__getitem__(place)

    assert specificity([Counted(f"term{number}") for number in range(100_000)]) == 1.0
    assert looked_at < 100
