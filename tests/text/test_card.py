import json
from datetime import UTC, datetime, timedelta

import pytest

from memory.text.card import CARD_SCHEMA, MAX_CARD_TOKENS, MIN_CARD_TOKENS, build_card, card_tokens, section_items
from memory.text.cues import BUCKETS
from memory.text.statements import MAX_SOURCES, Turn
from memory.text.tokens import count_tokens

DAY = datetime(2024, 3, 2, 9, 30, tzinfo=UTC)
NEXT_WEEK = DAY + timedelta(days=7)


def _turn(number, text, speaker="", role="user", at=DAY):
    return Turn(id=f"m{number}", text=text, role=role, speaker=speaker, occurred_at=at)


def _items(card):
    return [item for bucket in BUCKETS for item in card[bucket]]


TRIP = [
    _turn(1, "Hi Omar! How are you?", "Lena"),
    _turn(2, "Hey Lena! Great to hear from you.", "Omar"),
    _turn(3, "I booked the cabin in Tromsø for 14 August. Our budget is 900 euros.", "Lena"),
    _turn(4, "Wow, that's awesome! I prefer the train, flying makes me ill.", "Omar"),
    _turn(5, "We decided to leave on Thursday night. Please bring the big tent.", "Lena"),
    _turn(6, "Careful, the ferry often fails in strong wind.", "Omar"),
]
PROJECT = [
    _turn(1, "你好！最近怎么样？", "小李"),
    _turn(2, "我在成都做数据平台。我喜欢用深色主题。", "小李"),
    _turn(3, "我们决定采用 PostgreSQL 存向量。", "小王"),
    _turn(4, "注意，旧的迁移脚本会报错。上线必须在五月十日之前。", "小王"),
    _turn(5, "下一步要补全索引的测试。", "小李"),
]


def test_an_english_session_fills_the_buckets_and_drops_small_talk():
    card = build_card(TRIP, max_tokens=400)
    assert card["schema"] == CARD_SCHEMA
    assert card["facts"] == ["Lena: I booked the cabin in Tromsø for 14 August."]
    assert card["preferences"] == ["Omar: I prefer the train, flying makes me ill."]
    assert card["constraints"] == ["Lena: Our budget is 900 euros."]
    assert card["decisions"] == ["Lena: We decided to leave on Thursday night."]
    assert card["risks"] == card["pitfalls"] == ["Omar: Careful, the ferry often fails in strong wind."]
    assert card["actions"] == card["commands"] == ["Lena: Please bring the big tent."]
    assert card["period"] == {"from": "2024-03-02", "to": "2024-03-02"}
    assert "raw_excerpt" not in card


def test_a_chinese_session_fills_the_buckets():
    card = build_card(PROJECT, max_tokens=400)
    assert card["facts"] == ["小李: 我在成都做数据平台。"]
    assert card["preferences"] == ["小李: 我喜欢用深色主题。"]
    assert card["constraints"] == ["小王: 上线必须在五月十日之前。"]
    assert card["decisions"] == ["小王: 我们决定采用 PostgreSQL 存向量。"]
    assert card["risks"] == ["小王: 注意，旧的迁移脚本会报错。"]
    assert card["actions"] == ["小李: 下一步要补全索引的测试。"]


def test_every_item_has_its_sources():
    card = build_card(TRIP + PROJECT, max_tokens=600)
    for bucket in BUCKETS:
        assert len(card["sources"][bucket]) == len(card[bucket])
        assert all(ids for ids in card["sources"][bucket])
    assert card["sources"]["constraints"][0] == ["m3"]


def test_items_are_dated_when_the_card_spans_days_or_when_asked():
    later = [_turn(7, "The ferry now leaves at 7.", "Omar", at=NEXT_WEEK)]
    assert "Lena (2024-03-02): Our budget is 900 euros." in build_card(TRIP + later, max_tokens=400)["constraints"]
    assert build_card(TRIP, max_tokens=400, date_every_item=True)["constraints"] == [
        "Lena (2024-03-02): Our budget is 900 euros."
    ]


def test_who_speaks_is_named_by_role_only_where_it_matters():
    card = build_card(
        [
            _turn(1, "I live in Lagos."),
            _turn(2, "I rebuilt the index.", role="agent"),
            _turn(3, "The cache holds 5 GB."),
        ],
        max_tokens=400,
    )
    assert card["facts"] == ["user: I live in Lagos.", "agent: I rebuilt the index.", "The cache holds 5 GB."]


def test_near_identical_statements_become_one_item_with_all_sources():
    card = build_card(
        [
            _turn(1, "I live near the old harbour in Porto.", "Ines"),
            _turn(2, "The bakery opens at six.", "Rui"),
            _turn(3, "Yeah, I really live near the old harbour in Porto!", "Ines"),
        ],
        max_tokens=400,
    )
    assert card["facts"] == ["Rui: The bakery opens at six.", "Ines: I really live near the old harbour in Porto!"]
    assert card["sources"]["facts"] == [["m2"], ["m1", "m3"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I eat meat and fish.", "I don't eat meat and fish."),
        ("The main pump needs 40 litres of oil.", "The main pump needs 60 litres of oil."),
        ("我爱吃羊肉火锅。", "我不爱吃羊肉火锅。"),
    ],
)
def test_opposite_or_different_numbers_are_not_the_same(one, other):
    card = build_card([_turn(1, one, "Ada"), _turn(2, other, "Ada")], max_tokens=400)
    assert len(_items(card)) == 2


def test_the_same_taste_of_two_people_stays_two_items():
    card = build_card([_turn(1, "I love goat cheese.", "Ada"), _turn(2, "I love goat cheese.", "Ben")], max_tokens=400)
    assert card["preferences"] == ["Ada: I love goat cheese.", "Ben: I love goat cheese."]


def test_a_short_answer_is_quoted_with_its_question():
    card = build_card(
        [_turn(1, "What are you allergic to?", role="agent"), _turn(2, "Shellfish.", "Ben")], max_tokens=400
    )
    assert card["constraints"] == ["Ben: (What are you allergic to?) Shellfish."]
    assert card["sources"]["constraints"] == [["m1", "m2"]]


def test_exclamations_and_open_questions_are_dropped():
    turns = [_turn(1, "Yippee! Bravo, Omar!", "Lena"), _turn(2, "Which harbour do you mean?", "Omar")]
    assert _items(build_card(turns, max_tokens=400)) == []


def test_users_count_more_than_tools():
    statement = "The import of the {} catalogue took three hours."
    turns = [_turn(1, statement.format("spring"), role="tool"), _turn(2, statement.format("autumn"))]
    for pair in (turns, turns[::-1]):
        full = build_card(pair, max_tokens=400)
        card = build_card(pair, max_tokens=card_tokens(full) - 1)
        assert card["sources"]["facts"] == [["m2"]]


def test_commands_are_listed_and_not_repeated_as_statements():
    card = build_card(
        [_turn(1, "The deploy is manual.\n$ make deploy ENV=prod\n$ make deploy ENV=prod")], max_tokens=300
    )
    assert card["shell_commands"] == ["make deploy ENV=prod"]
    assert card["facts"] == ["The deploy is manual."]


def _long_session(count):
    return [
        _turn(n, f"Shelf {n} holds {n * 3} boxes of item {chr(97 + n % 26) * 4}. 第{n}批货物放在仓库的北侧。", "Kim")
        for n in range(count)
    ]


@pytest.mark.parametrize("budget", [120, 200, 350, 600])
def test_a_card_keeps_to_its_budget(budget):
    card = build_card(_long_session(80), max_tokens=budget)
    assert _items(card)
    assert card_tokens(card) <= budget


def test_the_default_budget_grows_with_the_input_up_to_a_bound():
    sizes = [card_tokens(build_card(_long_session(count))) for count in (2, 30, 400)]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= MAX_CARD_TOKENS


def test_a_budget_below_the_frame_gives_an_empty_card():
    assert _items(build_card(TRIP, max_tokens=10)) == []


def test_rolling_merges_and_stays_bounded():
    card = None
    for round_number in range(12):
        turns = [
            _turn(100 * round_number + n, f"Room {round_number}-{n} got a new {word} lamp.", "Kim", at=DAY)
            for n, word in enumerate(("red", "green", "brass", "glass", "paper"))
        ]
        turns.append(_turn(100 * round_number + 50, "The house rule is silence after ten.", "Kim"))
        card = build_card(turns, previous=card)
        assert card_tokens(card) <= MAX_CARD_TOKENS
    rules = [ids for item, ids in zip(card["facts"], card["sources"]["facts"], strict=True) if "silence" in item]
    assert len(rules) == 1
    assert rules[0][-1] == "m1150"
    assert 1 < len(rules[0]) <= MAX_SOURCES
    assert json.loads(json.dumps(card)) == card


def test_rolling_on_nothing_changes_nothing_but_keeps_the_items():
    card = build_card(TRIP, max_tokens=400)
    assert build_card([], previous=card, max_tokens=400) == card


def test_rolling_dates_the_items_of_an_earlier_day():
    card = build_card(TRIP, max_tokens=400)
    rolled = build_card([_turn(9, "I sold the canoe.", "Omar", at=NEXT_WEEK)], previous=card, max_tokens=600)
    assert rolled["constraints"] == ["Lena (2024-03-02): Our budget is 900 euros."]
    assert "Omar (2024-03-09): I sold the canoe." in rolled["facts"]
    assert rolled["period"] == {"from": "2024-03-02", "to": "2024-03-09"}
    assert rolled["sources"]["constraints"] == [["m3"]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The design review is on Wednesday.", "The design review moved to Friday."),
        ("I work at Contoso as an engineer.", "I no longer work at Contoso."),
        ("We decided to use RabbitMQ for the jobs.", "We switched to Kafka instead of RabbitMQ."),
        ("会议时间定在周三。", "会议时间改成周五。"),
        ("我每天喝咖啡。", "我不再喝咖啡了。"),
    ],
)
def test_a_newer_statement_supersedes_the_old_one(old, new):
    unrelated = "The garden has seven apple trees."
    card = build_card([_turn(1, old, "Mia"), _turn(2, unrelated, "Mia")], max_tokens=400)
    rolled = build_card([_turn(3, new, "Mia", at=NEXT_WEEK)], previous=card, max_tokens=400)
    assert sorted(_items(rolled)) == sorted([f"Mia (2024-03-02): {unrelated}", f"Mia (2024-03-09): {new}"])


def test_what_one_person_gave_up_stays_true_of_another():
    card = build_card([_turn(1, "I eat meat.", "Ada")], max_tokens=400)
    rolled = build_card([_turn(2, "I no longer eat meat.", "Ben")], previous=card, max_tokens=400)
    assert len(_items(rolled)) == 2


@pytest.mark.parametrize(
    "previous",
    [
        {},
        {"facts": "not a list", "period": [], "commands": "ls", "sources": []},
        {"facts": [1, None, {"a": 1}, " "], "sources": {"facts": [None, 3]}, "period": {"from": 7, "to": "soon"}},
        [1, 2],
        "text",
    ],
)
def test_foreign_or_broken_previous_cards_do_not_crash(previous):
    card = build_card([_turn(1, "I live in Lagos.", "Ada")], previous=previous)
    assert card["facts"] == ["Ada: I live in Lagos."]
    assert card["period"]["from"] == "2024-03-02"


def test_a_foreign_card_without_sources_is_taken_over():
    card = build_card([], previous={"facts": ["Likes: jazz"], "pitfalls": ["The old parser leaks memory"]})
    assert card["facts"] == ["Likes: jazz"]
    assert card["risks"] == ["The old parser leaks memory"]
    assert card["sources"]["facts"] == [[]]
    assert card["period"] == {"from": None, "to": None}


def test_naive_and_aware_times_mix():
    turns = [
        _turn(1, "I live in Lagos.", at=datetime(2024, 1, 5, 8)),
        _turn(2, "I own two boats."),
        _turn(3, "", at=None),
    ]
    assert build_card(turns)["period"] == {"from": "2024-01-05", "to": "2024-03-02"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "😀" * 20_000,
        "x" * 20_000,
        "!" * 20_000,
        "`" * 20_000,
        "```\n" * 5_000,
        "必须" * 10_000,
        "if " * 7_000,
    ],
)
def test_odd_text_works_and_is_bounded(text):
    assert card_tokens(build_card([_turn(1, text)])) <= MAX_CARD_TOKENS


def test_long_input_gets_an_excerpt():
    card = build_card(_long_session(120))
    assert card["raw_excerpt"].startswith("Shelf 0 holds")
    assert card["raw_excerpt"].endswith("…") or len(card["raw_excerpt"]) < 160


@pytest.mark.parametrize(("characters", "quoted"), [(799, False), (800, True)])
def test_from_800_characters_on_the_beginning_is_quoted(characters, quoted):
    text = "Shelf one holds the blue jars. ".ljust(characters, "x")
    assert ("raw_excerpt" in build_card([_turn(1, text)])) is quoted


def test_shell_commands_of_an_older_card_are_told_and_the_mirror_of_actions_is_not():
    older = {"actions": ["Ann: Call Bo."], "commands": ["make kiln"]}
    assert section_items(older, "shell_commands") == ["make kiln"]
    assert section_items({**older, "commands": older["actions"]}, "shell_commands") == []
    assert section_items({**older, "shell_commands": ["ls"]}, "shell_commands") == ["ls"]


def test_what_a_turn_says_of_time_is_told_with_its_date():
    card = build_card([_turn(1, "I sold the canoe yesterday.", "Omar"), _turn(2, "我上周去了昆明开会。", "小李")])
    assert card["facts"] == [
        "Omar: I sold the canoe yesterday (2024-03-01).",
        "小李: 我上周(2024-02-19/25)去了昆明开会。",
    ]


def test_an_item_that_tells_its_date_needs_no_day_and_keeps_it_when_it_is_rolled_on():
    card = build_card([_turn(1, "I sold the canoe yesterday.", "Omar")])
    rolled = build_card([_turn(2, "I bought a kayak made of cedar.", "Omar", at=NEXT_WEEK)], previous=card)
    assert rolled["facts"] == [
        "Omar: I sold the canoe yesterday (2024-03-01).",
        "Omar (2024-03-09): I bought a kayak made of cedar.",
    ]
    assert rolled["sources"]["facts"] == [["m1"], ["m2"]]


def test_the_same_words_of_two_days_are_two_events():
    turns = [
        _turn(1, "I ran the old harbour trail yesterday.", "Ada"),
        _turn(2, "I ran the old harbour trail yesterday.", "Ada", at=NEXT_WEEK),
    ]
    assert len(build_card(turns, max_tokens=400)["facts"]) == 2


def test_many_turns_are_told_of_before_one_turn_is_told_twice():
    talker = _turn(1, "I keep bees in Tromsø. I keep hens in Bergen. I keep goats in Molde.", "Lena")
    others = [_turn(n, f"I keep {what}.", "Omar") for n, what in ((2, "carp"), (3, "ducks"))]
    full = build_card([talker, *others], max_tokens=400)
    assert len(_items(full)) == 5
    card = build_card([talker, *others], max_tokens=card_tokens(full) * 2 // 3)
    assert {ids[0] for bucket in BUCKETS for ids in card["sources"][bucket]} == {"m1", "m2", "m3"}


def test_an_answer_and_the_opening_count_for_more():
    statement = "The import of the {} catalogue took three hours."
    filler = _turn(9, "Nice!", "Omar")
    asked = _turn(8, "Which catalogues did you import this time?", "Omar")
    plain, told = _turn(1, statement.format("spring"), "Lena"), _turn(2, statement.format("autumn"), "Lena")
    for turns in ([told, filler, filler, plain], [filler, filler, plain, filler, asked, told]):
        full = build_card(turns, max_tokens=400)
        assert build_card(turns, max_tokens=card_tokens(full) - 1)["sources"]["facts"] == [["m2"]]


def test_a_card_costs_a_quarter_of_a_session_or_very_little():
    assert card_tokens(build_card(PROJECT)) <= MIN_CARD_TOKENS
    turns = _long_session(30)
    told = sum(count_tokens(f"- {turn.speaker}: {turn.text}\n") for turn in turns)
    assert card_tokens(build_card(turns)) <= told / 4


def test_a_card_grows_ever_more_slowly_up_to_a_bound():
    card, sizes = None, []
    for number in range(40):
        turns = [
            _turn(100 * number + n, f"Shelf {number}-{n} holds {word} lamps for house {number * 7 + n}.", f"Kim{n}")
            for n, word in enumerate(("red", "green", "brass", "glass", "paper", "stone", "wooden", "iron") * 3)
        ]
        card = build_card([*turns, _turn(100 * number + 99, "房东说十点以后必须安静。", "小李")], previous=card)
        sizes.append(card_tokens(card))
    assert sizes[0] < sizes[1] < sizes[2]
    assert max(sizes) <= MAX_CARD_TOKENS
    assert sizes[1] - sizes[0] > sizes[-1] - sizes[-2]
    assert [item for item in card["constraints"] if "安静" in item] == ["小李: 房东说十点以后必须安静。"]
    newest = {source for ids in card["sources"]["facts"] for source in ids if source.startswith("m39")}
    assert newest


def test_two_thousand_turns_keep_to_the_bound():
    card = build_card(_long_session(2000))
    assert _items(card)
    assert card_tokens(card) <= MAX_CARD_TOKENS


@pytest.mark.parametrize("text", ["I went there yesterday. " * 900, "yesterday " * 2_000, "(2024-01-01/" * 1_600])
def test_twenty_thousand_characters_of_time_work(text):
    assert card_tokens(build_card([_turn(1, text)])) <= MAX_CARD_TOKENS


def test_no_turns():
    card = build_card([])
    assert _items(card) == []
    assert card["sources"] == {bucket: [] for bucket in BUCKETS}
    assert card["period"] == {"from": None, "to": None}


def test_the_card_is_the_same_each_time():
    session = TRIP + PROJECT + _long_session(40)
    assert build_card(session) == build_card(session)
