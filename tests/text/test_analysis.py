"""The index terms of a text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.text.analysis import (
    FUNCTION_CHARACTERS,
    MAX_TERM_CHARS,
    STOP_WORDS,
    cjk_share,
    is_cjk,
    terms,
    terms_of_question,
)

CASES = [
    ("runners running", ["runner", "run"]),
    ("Connections connected CONNECTING", ["connect", "connect", "connect"]),
    ("the of and a", []),
    ("What did she say to them?", ["say"]),
    ("don't stop, I'll go", ["stop", "go"]),
    ("Ann's cat’s toy", ["ann", "cat", "toy"]),
    ("the runners' shoes", ["runner", "shoe"]),
    ("room 42 costs 1,500", ["room", "42", "cost", "1", "500"]),
    ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
    ("load_user_profiles", ["load_user_profiles", "load", "user", "profil"]),
    ("memory/api/urls.py", ["memory/api/urls.py", "memori", "api", "url", "py"]),
    ("ann@example.com", ["ann@example.com", "ann", "exampl", "com"]),
    ("2026-05-08T13:56", ["2026-05-08t13:56", "2026", "05", "08t13", "56"]),
    ("C++ and C#", ["c++", "c", "c#", "c"]),
    ("C/C++, C++17 or C#12.", ["c/c++", "c", "c++", "c", "c++", "c", "17", "c#", "c", "12"]),
    ("ASP.NET on .NET 8", ["asp.net", "asp", "net", ".net", "net", "8"]),
    ("F#! g++-12", ["f#", "f", "g++", "g", "12"]),
    ("A+ or A-, O− and O+", ["a+", "a-", "o-", "o", "o+", "o"]),
    ("Plan B - and then 5+ people", ["plan", "b", "5", "peopl"]),
    ("naïve Café", ["naiv", "cafe"]),
    ("We met Will and An.", ["met", "will", "an"]),
    ("Will you come? I will.", ["come"]),
    ("Will moved. Don's car", ["will", "move", "don", "car"]),
    ("Don't go", ["go"]),
    ("thé", ["the"]),
    ("Ask the WHO, or our IT.", ["ask", "who", "it"]),
    ("IT-Leitung", ["it-leitung", "it", "leitung"]),
    ("I WILL DO IT NOW", []),
    ("It is. Who was it? What should I do?", []),
    ("The Lord Of The Rings", ["lord", "ring"]),
    ("Doctor Who", ["doctor", "who"]),
    ("I watch Doctor Who daily", ["watch", "doctor", "who", "daili"]),
    ("vitamin D and T cells", ["vitamin", "d", "t", "cell"]),
    ("ฉันชอบกิน", ["ฉัน", "นช", "ชอ", "อบ", "บกิ", "กิน"]),
    ("ກິນເຂົ້າ", ["ກິນ", "ນເ", "ເຂົ້", "ຂົ້າ"]),
    ("ទឹក", ["ទឹក"]),
    ("ရေနွေး", ["ရေနွေး"]),
    ("हिन्दी में किताब", ["हिन्दी", "में", "किताब"]),
    ("1️⃣ ❤️", ["1"]),
    ("限流", ["限", "流", "限流"]),
    ("是", []),
    ("的了吗", []),
    ("我是谁", []),
    ("你的猫", ["猫", "的猫"]),
    ("他们没有开会", ["开", "有开", "开会"]),
    ("用Redis做限流", ["用", "redi", "做", "限", "流", "做限", "限流"]),
    ("テスト", ["テ", "ス", "ト", "テス", "スト"]),
    ("한국 서울", ["한", "국", "한국", "서", "울", "서울"]),
    ("Ｆｕｌｌ ｗｉｄｔｈ ４２", ["full", "width", "42"]),
    ("ﬁle ①", ["file", "1"]),
    ("e\u0301te\u0301", ["ete"]),
    ("😀 !!! — …", []),
    ("", []),
    (" \t\n\u3000\u2028\u200b", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[repr(text) for text, _ in CASES])
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_case_form_and_width_do_not_matter() -> None:
    assert terms("Ｐｏｓｔｇｒｅｓ Café") == terms("postgres CAFE\u0301") == terms("POSTGRES café")


def test_no_stop_word_in_small_letters_is_a_term() -> None:
    for word in STOP_WORDS:
        assert terms(word) == []


@pytest.mark.parametrize("word", ["Will", "Don", "IT", "WHO", "An"])
def test_a_name_that_is_a_stop_word_is_a_term(word: str) -> None:
    assert (
        terms(word)
        == terms_of_question(word)
        == terms_of_question(word.lower())
        == terms_of_question(f"{word}?")
        == [word.lower()]
    )


def test_common_words_are_asked_alone_only() -> None:
    assert terms_of_question("who is it") == terms_of_question("的") == terms_of_question("👍") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("coordenação", "COORDENACAO"),
        ("résumé", "resume"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("Iğdır", "IGDIR"),
        ("Łódź", "lodz"),
        ("smørrebrød", "smorrebrod"),
        ("Đà Nẵng", "da nang"),
        ("Ёлка", "елка"),
        ("на\u0301до", "надо"),
        ("Ἀθῆναι", "Αθηναι"),
        ("ΣΊΣΥΦΟΣ", "σισυφος"),
        ("أحمد", "احمد"),
        ("مُحَمَّد", "محمد"),
        ("مدرسة", "مدرسه"),
        ("علی", "علي"),
        ("مـوقع", "موقع"),
        ("می\u200cروم", "میروم"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_marks_and_forms_of_letters_do_not_matter(one: str, other: str) -> None:
    assert terms(one) == terms(other) == terms(unicodedata.normalize("NFD", one))
    assert terms(f"xyz {one} xyz")[1:-1] == terms(one) != []


@pytest.mark.parametrize(("one", "other"), [("мой", "мои"), ("が", "か"), ("Hans", "Hand"), ("की", "का")])
def test_letters_that_differ_stay_apart(one: str, other: str) -> None:
    assert terms(one) != terms(other)


@given(st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_the_form_of_unicode_does_not_matter(text: str) -> None:
    forms = {tuple(terms(unicodedata.normalize(form, text))) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert len(forms) == 1


@pytest.mark.parametrize("word", ["a" * (MAX_TERM_CHARS + 1), "é" * 65, "1" * 500])
def test_a_word_that_is_too_long_becomes_a_digest_of_its_own(word: str) -> None:
    (term,) = terms(word)
    assert re.fullmatch(r"#[0-9a-f]{40}", term)
    assert terms(word.upper()) == [term]
    assert terms(word + "x") != [term]


def test_a_word_of_the_limit_stays_readable() -> None:
    assert terms("1" * MAX_TERM_CHARS) == ["1" * MAX_TERM_CHARS]


def test_a_long_identifier_is_a_digest_beside_its_parts() -> None:
    whole, *parts = terms("/".join(["invoice"] * 12))
    assert whole.startswith("#")
    assert parts == ["invoic"] * 12


def test_a_long_chinese_text_stays_unigrams_and_bigrams() -> None:
    found = terms("长" * 20_000)
    assert len(found) == 39_999
    assert set(found) == {"长", "长长"}


@given(st.text(max_size=400))
@example("İ" * 100)
@example("\u1680x\u2028y\u0085")
@example("ﷺ" * 70)
@example("𠀀𠀁")
@example("a" + "\u0301\u0483" * 4_000)
@example("ก" + "\u0e31" * 4_000)
@settings(max_examples=300, deadline=None)
def test_terms_hold_no_white_space_are_bounded_and_the_same_each_time(text: str) -> None:
    found = terms(text)
    assert all(term and len(term) <= MAX_TERM_CHARS and not re.search(r"\s", term) for term in found)
    assert all("\0" not in term for term in found)
    assert terms(text) == found


@given(st.lists(st.from_regex(r"[a-z]{1,80}(?:[_./-][a-z0-9]{1,80}){0,4}", fullmatch=True), max_size=10))
@settings(max_examples=50, deadline=None)
def test_a_text_has_the_terms_of_its_words(words: list[str]) -> None:
    assert terms(" ".join(words)) == [term for word in words for term in terms(word)]


@pytest.mark.parametrize(
    ("text", "share"), [("", 0.0), ("!!!", 0.0), ("hello", 0.0), ("限流", 1.0), ("ab限流", 0.5), ("限，流！", 1.0)]
)
def test_the_share_of_cjk_letters(text: str, share: float) -> None:
    assert cjk_share(text) == share


def test_no_function_character_is_a_term_alone_or_beside_another() -> None:
    for character in FUNCTION_CHARACTERS:
        assert terms(character) == []
    assert terms("".join(sorted(FUNCTION_CHARACTERS))) == []


def test_a_function_character_beside_another_keeps_the_pair() -> None:
    # 目的 (aim) must not become 目.
    assert terms("目的") == ["目", "目的"]


@pytest.mark.parametrize("character", ["限", "テ", "ひ", "한", "𠀀"])
def test_scripts_without_spaces(character: str) -> None:
    assert is_cjk(character)
    assert not is_cjk("a")
