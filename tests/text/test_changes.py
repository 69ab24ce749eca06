from __future__ import annotations

import pytest

from memory.enums import ChangeKind
from memory.text.changes import changes, is_prose, object_terms

TAKEN_BACK = [
    ("I no longer live in Lisbon.", "live in Lisbon"),
    ('I no longer need to track "Water the ferns" on my list.', "Water the ferns"),
    ("Please remove 'Visit the mill.' from the plan.", "Visit the mill"),
    ("Please forget my phone number.", "my phone number"),
    ("Please forget what I told you about my phone number.", "my phone number"),
    ("Delete everything you know about my old flat.", "my old flat"),
    ("Can you delete the note about Oslo?", None),
    ("I don't like jazz anymore.", "like jazz"),
    ("I used to love chess, but I've gone off it lately.", "love chess"),
    ("I've lost interest in pottery.", "pottery"),
    ("我不再喝咖啡了。", "喝咖啡了"),
    ("请把我的电话号码删掉。", "我的电话号码"),
    ("我以前喜欢歌剧，现在不喜欢了。", "喜欢歌剧"),
]
DONE = [
    ("I finally finished painting the fence.", "painting the fence"),
    ("I cancelled the dentist appointment.", "the dentist appointment"),
    ("We quit the choir.", "the choir"),
    ("我已经完成了论文摘要。", "论文摘要"),
    ("我取消了周三的牙医预约。", "周三的牙医预约"),
]
REPLACED = [
    ("I changed my goal from 5 km to 10 km.", "5 km", "10 km"),
    ("Please raise the budget from $1,200,000 to $1,300,000.", "$1,200,000", "$1,300,000"),
    ("The deadline has been moved to June 12.", "The deadline", "June 12"),
    ("We replaced the old lamp with a lantern.", "the old lamp", "a lantern"),
    ("Make it 350 ml rather than 500 ml.", "500 ml", "Make it 350 ml"),
    ("I used to drink tea, but now I prefer coffee.", "drink tea", "but now I prefer coffee"),
    ("截止日期从5月3日改成5月10日。", "5月3日", "5月10日"),
    ("会议改到周五了。", "会议", "周五了"),
]
NOTHING = [
    "Is the meeting moved to Friday?",
    "Don't forget my birthday.",
    "I'm trying to switch from oil to gas.",
    "Accelerated tests are often used to predict wear, but not always.",
    "Please update the list to include Ann.",
    "GET /notes, PUT /notes/{id}, and DELETE /notes/{id}.",
    "别忘了我的生日。",
    "如果不再下雨，我们就出发。",
]


@pytest.mark.parametrize(("sentence", "old"), TAKEN_BACK)
def test_what_is_taken_back(sentence: str, old: str | None) -> None:
    found = changes(sentence)
    if old is None:
        assert found == []
    else:
        assert (found[0].kind, found[0].old) == (ChangeKind.RETRACTS, old)


@pytest.mark.parametrize(("sentence", "old"), DONE)
def test_what_is_over(sentence: str, old: str) -> None:
    assert (changes(sentence)[0].kind, changes(sentence)[0].old) == (ChangeKind.CLOSES, old)


@pytest.mark.parametrize(("sentence", "old", "new"), REPLACED)
def test_what_is_replaced(sentence: str, old: str, new: str) -> None:
    first = changes(sentence)[0]
    assert (first.kind, first.old) == (ChangeKind.REPLACES, old)
    assert first.new.startswith(new)


@pytest.mark.parametrize("sentence", NOTHING)
def test_what_changes_nothing(sentence: str) -> None:
    assert changes(sentence) == []


def test_the_container_is_told_from_the_object() -> None:
    change = changes("Please remove 'Paint the door' from the weekend plan.")[0]

    assert (change.old, change.what) == ("Paint the door", "the weekend plan")


@pytest.mark.parametrize("phrase", ["it", "his style", "some information", "resonate with me", "like it"])
def test_a_phrase_that_names_nothing_has_no_object(phrase: str) -> None:
    assert object_terms(phrase) == frozenset()


def test_an_object_is_known_by_its_terms() -> None:
    assert object_terms("the 1980s records") == object_terms("80s records") != frozenset()


@pytest.mark.parametrize("code", ["x = [1, 2]", "print(name)", "SELECT * FROM t WHERE id = ?;", "{'id': 1}"])
def test_code_is_not_prose(code: str) -> None:
    assert not is_prose(code)


@pytest.mark.parametrize("length", [50, 400])
def test_hostile_text_takes_no_time(length: int) -> None:
    for part in ("from a to b ", "used to, ", "'", "remove ", "从到改成", "not anymore "):
        changes(part * (length // len(part)))
