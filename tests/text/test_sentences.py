from memory.text.sentences import (
    MAX_SENTENCE_CHARS,
    is_first_person,
    is_question,
    is_reaction,
    is_small_talk,
    split_sentences,
    strip_fillers,
)


def test_abbreviations_decimals_and_urls_do_not_end_a_sentence():
    text = "Dr. Reyes paid $3.50 for it. The page https://example.org/a?b=1.2 explains why. J. Ortiz has No. 7."
    assert split_sentences(text) == [
        "Dr. Reyes paid $3.50 for it.",
        "The page https://example.org/a?b=1.2 explains why.",
        "J. Ortiz has No. 7.",
    ]


def test_a_quoted_question_inside_a_sentence_does_not_end_it():
    assert split_sentences('"Really?" she asked. "Yes." We went on.') == [
        '"Really?" she asked.',
        '"Yes."',
        "We went on.",
    ]


def test_chinese_and_mixed_text():
    text = "我在成都上班。你呢？他说：“走吧！”价格是3.5元；很便宜 OK.我们买了"
    assert split_sentences(text) == [
        "我在成都上班。",
        "你呢？",
        "他说：“走吧！”",
        "价格是3.5元；",
        "很便宜 OK.",
        "我们买了",
    ]


def test_lists_are_split_and_wrapped_lines_are_joined():
    text = "1. Install the server\n2. Open the port\n- a long point that\ngoes on here\n\nlast paragraph"
    assert split_sentences(text) == [
        "Install the server",
        "Open the port",
        "a long point that goes on here",
        "last paragraph",
    ]


def test_sentences_are_of_bounded_length():
    clauses = split_sentences("the pump ran dry, " * 60)
    assert len(clauses) > 1
    assert all(clause.startswith("the pump") and len(clause) <= MAX_SENTENCE_CHARS for clause in clauses)
    (word,) = split_sentences("x" * 20_000)
    assert len(word) == MAX_SENTENCE_CHARS
    assert word.endswith("…")


def test_text_without_words():
    assert split_sentences("") == []
    assert split_sentences(" \n\n ") == []
    assert split_sentences("😀" * 3) == ["😀😀😀"]


def test_fillers_are_stripped_but_not_words_that_look_like_them():
    assert strip_fillers("Oh, yeah, Nadia, I sold the van") == "I sold the van"
    assert strip_fillers("好的，对了，我搬家了") == "我搬家了"
    for kept in (
        "No more than five guests",
        "Right-handed players win",
        "iPhone sales fell",
        "So far it works",
        "对方同意了",
    ):
        assert strip_fillers(kept) == kept


def test_questions_but_not_requests():
    assert is_question("Where do you live?")
    assert is_question("你住在哪里？")
    assert is_question("明天有空吗")
    assert not is_question("Could you please send me the keys?")
    assert not is_question("请把钥匙寄给我好吗？")
    assert not is_question("I asked him why.")


def test_small_talk_in_both_languages():
    for courtesy in (
        "Hi there!",
        "Thanks for everything, Lena!",
        "Sounds great.",
        "Good to hear from you",
        "谢谢你",
        "辛苦了！",
    ):
        assert is_small_talk(courtesy), courtesy
    for content in (
        "Thanks to the patch the import is fast",
        "See you at platform 9 at 18:40",
        "Highland cattle are calm",
        "谢谢，不过我下周要去广州出差",
    ):
        assert not is_small_talk(content), content


def test_reactions_are_about_what_another_said():
    assert is_reaction("That must have been fun!")
    assert is_reaction("你真厉害！")
    assert not is_reaction("That was my first marathon.")
    assert not is_reaction("It runs on port 8080.")


def test_first_person():
    assert is_first_person("I’ve moved")
    assert is_first_person("这是我的车")
    assert not is_first_person("The index is stale")
