"""Only explicit statements remove anything from search; a probable new value is linked; lists and others stay."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from memory.governance.settling import DENIES, ENDED, TAKEN_BACK, Earlier, Settled, find_denied_terms, settle
from memory.text.utterances import statements


def near(_statement: str, others: Sequence[str]) -> list[float]:
    """Return similarities of a model that finds everything similar."""
    return [0.92] * len(others)


def decide(
    said: str, *earlier: str, speaker: str = "Ada", others: Sequence[str] = (), successions=(), cosines=near
) -> Settled[int]:
    """Settle `said` against `earlier` messages (keys 0, 1, …). `others` are their speakers if not `speaker`."""
    people = others or [speaker] * len(earlier)
    told = {at: statements(text, speaker=who) for at, (text, who) in enumerate(zip(earlier, people, strict=True))}
    return settle(
        99,
        statements(said, speaker=speaker),
        Earlier(told, list(told), successions=successions),
        measure_cosines=cosines,
    )


def retired(settled: Settled[int]) -> list[tuple[int, int, int]]:
    return [(one.key, one.start, one.end) for one in settled.retired]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I love chess problems.", "I've lost interest in chess problems."),
        ("I work at Delphine's bakery.", "I no longer work at Delphine's."),
        ("I drive a blue Volvo.", "I sold the Volvo."),
        ("I go to pottery class on Thursdays.", "I've given up the pottery class."),
        ("我有一辆红色的马自达。", "我把马自达卖了。"),
        ("我吃素。", "我不吃素了。"),
    ],
)
def test_what_its_speaker_ends_leaves_search(older, newer):
    settled = decide(newer, older)
    assert retired(settled) == [(0, 0, len(older))]
    assert settled.retired[0].decision.reason == ENDED


def test_only_the_statement_that_ended_leaves():
    settled = decide("I've lost interest in chess problems.", "I love chess problems. My oboe is mended at last.")
    assert retired(settled) == [(0, 0, 22)]


def test_of_a_sentence_that_joins_statements_only_one_leaves():
    settled = decide("I sold the Volvo.", "I drive a blue Volvo, and my sister Greta lives in Malmö.")
    assert retired(settled) == [(0, 0, 26)]
    settled = decide("I've stopped keeping bees.", "The gas meter is in the porch, I keep bees.")
    assert retired(settled) == [(0, 29, 42)]


def test_a_sentence_whose_rest_would_not_read_well_is_linked_and_stays():
    settled = decide("I sold the Volvo.", "I drive a blue Volvo, which came from Greta.")
    assert settled.retired == []
    assert [one.key for one in settled.linked] == [0]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The coffee machine at work is broken.", "I gave up coffee."),
        ("I love the coffee place on Mill Road.", "I gave up coffee."),
        ("My brother Max drinks a lot of coffee.", "I gave up coffee."),
        ("I met my wife in the pottery class.", "I've given up the pottery class."),
        ("My first car was a Volvo.", "I sold the Volvo."),
        ("The Volvo dealer in town is friendly.", "I sold the Volvo."),
        ("I drive a silver Passat.", "My brother sold his Passat."),
        ("我开一辆银色帕萨特。", "他把帕萨特卖了。"),
        ("咖啡机坏了。", "咖啡我戒掉了。"),
        ("我在学校食堂吃饭。", "我不去学校了。"),
        ("We meet every Friday.", "Cancelled the meeting this morning."),
    ],
)
def test_what_only_shares_its_words_stays(older, newer):
    assert decide(newer, older).retired == []


def test_a_request_to_forget_goes_with_what_is_forgotten():
    request = "Please forget Bill Evans."
    settled = decide(request, "Bill Evans is the pianist I like most.")
    assert retired(settled) == [(0, 0, 38), (99, 0, len(request))]
    assert {one.decision.reason for one in settled.retired} == {TAKEN_BACK}
    assert settled.retired[1].names == {"bill", "evan"}


def test_what_fits_many_memories_names_a_topic():
    hikes = [f"I go hiking with friend number {number}." for number in range(4)]
    assert decide("I gave up hiking.", *hikes).retired == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I eat meat most days.", "I've stopped eating meat."),
        ("Since Saturday the invoice export is down here.", "Since Sunday the invoice export is down here."),
        ("Our deadline is the 4th.", "Our deadline is the 9th now."),
        ("我几乎天天吃肉。", "我已经不吃肉了。"),
        ("我们房租两千一。", "我们房租现在两千八了。"),
    ],
)
def test_nobody_acts_on_what_somebody_else_said_of_themselves(older, newer):
    settled = decide(newer, older, speaker="Okafor", others=["Clinic"])
    assert (settled.retired, settled.linked, settled.review) == ([], [], [])


def test_of_a_thing_that_is_neither_ones_own_another_speaker_gives_a_new_value():
    settled = decide("The library closes at six now.", "The library closes at eight.", others=["Ben"])
    assert ([one.key for one in settled.linked], settled.retired) == ([0], [])


def test_a_probable_new_value_links_and_hides_nothing():
    settled = decide("Our rent is 950 a month now.", "Our rent is 900 a month.")
    assert [(one.key, one.start, one.end) for one in settled.linked] == [(0, 0, 24)]
    assert settled.retired == []


def test_of_three_values_the_last_one_is_followed():
    settled = decide(
        "Our rent is 990 a month now.", "Our rent is 900 a month.", "Our rent is 950 a month now.", successions=[(1, 0)]
    )
    assert [one.key for one in settled.linked] == [1]


@pytest.mark.parametrize(
    "series",
    [
        [f"My {year} tax return brought {year - 1900} euros back." for year in range(2020, 2026)],
        [f"Patient {number} is allergic to latex." for number in range(11, 21)],
        [f"Ticket {number} is about the login page." for number in range(41, 46)],
        ["第一章写灯塔。", "第二章写码头。", "第三章写法庭。"],
    ],
)
def test_a_series_is_left_alone(series):
    for place in range(1, len(series)):
        settled = decide(series[place], *series[:place])
        assert (settled.retired, settled.linked) == ([], [])


def test_like_statements_that_did_not_replace_each_other_are_a_list():
    settled = decide("I now read Ulysses on the train.", "I read Dune on the train.", "I read Emma on the train.")
    assert settled.linked == []


def test_a_model_whose_cosines_are_unknown_links_nothing():
    assert decide("Our rent is 950 now.", "Our rent is 900.", cosines=lambda _said, _others: None).linked == []


def test_a_denial_for_all_time_is_for_people():
    settled = decide("I have never sailed on the lake.", "I sailed across the lake with Tom.")
    assert [(one.key, one.decision.reason) for one in settled.review] == [(0, DENIES)]
    assert settled.retired == []
    assert find_denied_terms("I have never sailed on the lake.") == {"sail", "lake"}


def test_what_the_agent_says_decides_nothing():
    told = statements("I sold the Volvo.", by_agent=True)
    earlier = {0: statements("I drive a blue Volvo.")}
    assert settle(1, told, Earlier(earlier, [0]), measure_cosines=near).retired == []


def test_what_is_not_judged_in_time_changes_nothing():
    told, earlier = statements("I sold the Volvo."), {0: statements("I drive a blue Volvo.")}
    assert settle(1, told, Earlier(earlier, [0]), measure_cosines=near, until=time.thread_time() - 1) == Settled()
