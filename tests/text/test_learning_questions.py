from __future__ import annotations

import re

import pytest

from memory.text.learning_questions import (
    MAX_CHARS,
    ask_for,
    ask_otherwise,
    cue_of,
    is_chinese,
    repeat_otherwise,
)

# Texts with their speaker and their subject; the subject is "" if no question can be asked.
TEXTS = [
    ("The release train leaves every second Thursday at 14:00.", "", "the release train"),
    ("The dry run took 47 minutes, mostly for one index.", "Jonas", "the dry run"),
    ("My German class starts on Monday at 18:30.", "Camille", "Camille's German class"),
    ("My German class starts on Monday at 18:30.", "", "my German class"),
    ("Our booking app must start in under two seconds.", "Mei", "the booking app"),
    ("Ada's desk is in room 42.", "", "Ada's desk"),
    ("Ada's ticket number is QX-4471 and her seat is 61.", "", "Ada's ticket number"),
    ("We decided to use PostgreSQL for the event store instead of MongoDB.", "Jonas", "the event store"),
    ("231 duplicates. The idempotency keys were worth it.", "Mei", "the idempotency keys"),
    ("I signed up for a pottery class yesterday.", "Ann", "a pottery class"),
    ("I moved to Berlin last week.", "Ann", "Berlin"),
    ("Thanks! Where is the key? I play the cello.", "Ann", "the cello"),
    ("The key is [secret: token] for the harbour crane.", "", "the key"),
    ("预算上限是八万元。", "", "预算上限"),
    ("我的工位在42号。", "林梅", "林梅的工位"),
    ("我的工位在42号。", "", "我的工位"),
    ("我们决定用 Redis 做限流。", "", "Redis"),
    ("退款接口的超时时间最多三秒。", "", "退款接口的超时时间"),
    ("我对花生过敏。", "", "花生"),
    # These texts yield no question.
    ("Yes.", "", ""),
    ("", "", ""),
    ("Thanks for the help!", "", ""),
    ("Where did we put the key?", "", ""),
    ("Then let's go to fifty percent at noon.", "", ""),
    ("That was his idea.", "", ""),
    ("It was the whole thing.", "", ""),
    ("The younger players like it.", "", ""),
    ("I might give it a try.", "", ""),
    ("It was the best of the lot.", "", ""),
    ("Wow, that looks great Joanna!", "", ""),
    ("好的，谢谢！", "", ""),
    ("必须先跑完对账。", "", ""),
    ("以后切换改到周二凌晨。", "", ""),
    ("特别是他们家的面。", "", ""),
]
_DANGLING = re.compile(
    r"\b(?:a|an|the|my|our|of|to|in|on|at|for|with|and|or|every|is|are|was|were|that|his|her|their)\?$"
)


@pytest.mark.parametrize(("text", "speaker", "cue"), TEXTS)
def test_a_memory_is_asked_for_by_what_it_is_about(text, speaker, cue):
    assert cue_of(text, speaker) == cue


@pytest.mark.parametrize(("text", "speaker"), [(text, speaker) for text, speaker, cue in TEXTS if cue])
def test_a_question_reads_like_one(text, speaker):
    cue = cue_of(text, speaker)
    chinese = is_chinese(text)

    for question in (ask_for(cue, chinese=chinese), ask_otherwise(cue, chinese=chinese)):
        assert question[-1] == ("？" if chinese else "?")
        assert len(re.findall(r"[.!?。！？]", question)) == 1
        assert not _DANGLING.search(question)
        assert "  " not in question
        assert len(question) < MAX_CHARS + 40
    assert ask_for(cue, chinese=chinese) != ask_otherwise(cue, chinese=chinese)


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        ("Where is the key?", "I would like to know this: Where is the key?"),
        ("Make it shorter.", "Let me say it again: Make it shorter."),
        ("钥匙在哪里？", "我想知道：钥匙在哪里？"),
        ("写短一点。", "我再说一遍：写短一点。"),
    ],
)
def test_what_was_asked_keeps_its_form(asked, again):
    assert repeat_otherwise(asked) == again
