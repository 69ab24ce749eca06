"""One different symbol, sign, letter case or order makes another statement; spaces and end marks do not."""

from __future__ import annotations

import pytest

from memory.text.statement_form import statement_form

DIFFERENT = [
    ("My blood type is O+.", "My blood type is O−."),
    ("My blood type is O+", "My blood type is O-"),
    ("It is -5 °C outside.", "It is 5 °C outside."),
    ("The sensor reads −5 °C", "The sensor reads 5 °C"),
    ("Alert when the load is >80 %.", "Alert when the load is <80 %."),
    ("p > 0.05", "p ≥ 0.05"),
    ("I write C++.", "I write C#."),
    ("I write C.", "I write C++."),
    ("She got an A+.", "She got an A."),
    ("She got an A+.", "She got an A-."),
    ("👍", "👎"),
    ("The demo was 👍", "The demo was 👎"),
    ("✅ deployed", "❌ deployed"),
    ("Ann scored 8-10.", "Ann scored 8 10."),
    ("We meet 8-10.", "We meet 8.10."),
    ("I need polish.", "I need Polish."),
    ("She likes turkey.", "She likes Turkey."),
    ("I asked it for help.", "I asked IT for help."),
    ("The us team is out.", "The US team is out."),
    ("Set kB as the unit.", "Set KB as the unit."),
    ("It takes 5 mg.", "It takes 5 Mg."),
    ("The answer is 5!", "The answer is 5."),
    ("x² = 4", "x2 = 4"),
    ("The dose is 10⁻³ mol.", "The dose is 10-3 mol."),
    ("Ann owes Bob money.", "Bob owes Ann money."),
    ("Only I like tea.", "I only like tea."),
    ("We ship on Friday.", "We ship on Friday?"),
    ("I do eat fish.", "I do not eat fish."),
    ("The flag is --force.", "The flag is -force."),
    ("Run it with ~/bin.", "Run it with /bin."),
    ("The path is /tmp/a.", "The path is /tmp/a/."),
    ("a && b", "a || b"),
    ("x == y", "x != y"),
    ("f(x) += 1", "f(x) -= 1"),
    ("The price is $5.", "The price is €5."),
    ("The price is 1,5.", "The price is 15."),
    ("The rate is 5%.", "The rate is 5‰."),
    ("The rent is 900.", "The rent is 950."),
    ("Use version 1.2.", "Use version 12."),
    ("Call me at 07:00.", "Call me at 7.00."),
    ("He lives at 5/7 Elm Road.", "He lives at 57 Elm Road."),
    ("The mood was :)", "The mood was :("),
    ("I dislike games.", "I strongly dislike games."),
    ("I ate there.", "I ate there;"),
    ("Zürich is far.", "Zurich is far."),
    ("He has a resume.", "He has a résumé."),
    ("They are the students' books.", "They are the student's books."),
    ("🇦🇹 is my country", "🇦🇺 is my country"),
    ("♀ patient", "♂ patient"),
    ("...", "!"),
    ("我的血型是O+。", "我的血型是O−。"),
    ("室外零下5°C。", "室外5°C。"),
    ("血压>80。", "血压<80。"),
    ("我写C++。", "我写C#。"),
    ("她得了A+。", "她得了A-。"),
    ("演示👍", "演示👎"),
    ("比分8-10", "比分8 10"),
    ("小李欠小王一百元。", "小王欠小李一百元。"),
    ("他不喝酒。", "他喝酒。"),
    ("会议改到周五好吗？", "会议改到周五好吗"),
    ("我只喝茶。", "只我喝茶。"),
    ("房租是900元。", "房租是950元。"),
    ("剂量是5mg。", "剂量是5μg。"),
    ("温度±2度。", "温度+2度。"),
    ("他在北京，不在上海。", "他不在北京，在上海。"),
    ("答案是5！", "答案是5。"),
    ("张三（男）来了。", "张三（女）来了。"),
    ("价格是￥5。", "价格是$5。"),
    ("三点半见。", "三点见。"),
    ("买苹果、梨。", "买苹果/梨。"),
]
SAME = [
    ("I moved to Lisbon.", "I moved to Lisbon"),
    ("I moved to Lisbon!", "I moved to Lisbon."),
    ("I  moved to\nLisbon ", "I moved to Lisbon."),
    ("I write C++", "I write C++."),
    ("My blood type is O−", "My blood type is O−."),
    ("The rent is 900", "The rent is 900."),
    ("I went…", "I went."),
    ("Cafe\u0301 Luna is closed.", "Caf\u00e9 Luna is closed"),
    ("👍", "👍 "),
    ("Is it open?", "Is it  open? "),
    ("我喜欢爵士乐。", "我喜欢爵士乐"),
    ("我喜欢爵士乐！", "我喜欢爵士乐。"),
    ("小李欠小王一百元。", "小李欠小王一百元"),
    ("血压>80", "血压>80。"),
    ("好吗？", " 好吗？"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_sign_case_or_order_is_another_statement(one, other):
    assert statement_form(one) != statement_form(other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spaces_and_the_marks_at_the_end_are_no_difference(one, other):
    assert statement_form(one) == statement_form(other)
