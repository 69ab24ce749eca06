"""Typed settings from the environment: invalid values and their error messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from memory.conf import ConfigurationError, Environment

REFUSED: list[tuple[str, Callable[[Environment], Any], str]] = [
    ("maybe", lambda env: env.flag("X", False, ""), "X='maybe' is not a yes or a no: use 1 or 0"),
    ("2", lambda env: env.flag("X", False, ""), "X='2' is not a yes or a no: use 1 or 0"),
    ("five", lambda env: env.integer("X", 1, ""), "X='five' is not a whole number"),
    ("1.5", lambda env: env.integer("X", 1, ""), "X='1.5' is not a whole number"),
    ("0", lambda env: env.integer("X", 1, "", minimum=1, maximum=9), "X=0 is outside 1..9"),
    ("10", lambda env: env.integer("X", 1, "", minimum=1, maximum=9), "X=10 is outside 1..9"),
    ("-1", lambda env: env.integer("X", 1, ""), "X=-1 is outside 0..2147483647"),
    ("fast", lambda env: env.number("X", 1, ""), "X='fast' is not a number"),
    ("nan", lambda env: env.number("X", 1, ""), "X=nan is outside 0..1e+09"),
    ("inf", lambda env: env.number("X", 1, ""), "X=inf is outside 0..1e+09"),
    ("0.05", lambda env: env.number("X", 1, "", minimum=0.1, maximum=50), "X=0.05 is outside 0.1..50"),
    ("a=b, c", lambda env: env.pairs("X", ""), "X: 'c' is not of the form key=value"),
    ("=b", lambda env: env.pairs("X", ""), "X: '=b' is not of the form key=value"),
    ("a=b", lambda env: env.pairs("X", "", choices=("c", "d")), "X: 'a=b' names none of: c, d"),
    ("blue", lambda env: env.text("X", "red", "", choices=("red", "green")), "X='blue' is not one of: red, green"),
]


@pytest.mark.parametrize(("value", "read", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_a_value_that_cannot_be_used_is_named_with_what_is_expected(value, read, message):
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        read(Environment({"X": value}))


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_a_yes(value):
    assert Environment({"X": value}).flag("X", False, "") is True


@pytest.mark.parametrize("value", ["0", "False", "no", "OFF"])
def test_a_no(value):
    assert Environment({"X": value}).flag("X", True, "") is False


@pytest.mark.parametrize("values", [{}, {"X": ""}], ids=["absent", "empty"])
def test_absent_and_empty_are_the_default(values):
    env = Environment(values)
    assert env.flag("X", True, "") is True
    assert env.integer("X", 7, "") == 7
    assert env.number("X", 0.5, "") == 0.5
    assert env.text("X", "red", "", choices=("red",)) == "red"
    assert env.words("X", "a, b", "") == ["a", "b"]


def test_values_are_read_typed():
    env = Environment({"N": "42", "F": "2.5", "W": " a,, b ,", "T": "hello"})
    assert env.integer("N", 1, "") == 42
    assert env.number("F", 1.0, "") == 2.5
    assert env.words("W", "x", "") == ["a", "b"]
    assert Environment({"P": "a = b/c:7b, d=e=f"}).pairs("P", "") == {"a": "b/c:7b", "d": "e=f"}
    assert env.text("T", "", "") == "hello"


def test_an_older_name_is_read_and_the_newer_one_wins():
    assert Environment({"OLD": "2"}).integer("NEW", 1, "", alias="OLD") == 2
    assert Environment({"OLD": "2", "NEW": "3"}).integer("NEW", 1, "", alias="OLD") == 3


def test_a_secret_may_come_from_a_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text("s3cret\n", encoding="utf-8")
    assert Environment({"KEY_FILE": str(file)}).text("KEY", "", "", secret=True) == "s3cret"


def test_only_secrets_come_from_files(tmp_path):
    file = tmp_path / "secret"
    file.write_text("s3cret", encoding="utf-8")
    assert Environment({"NAME_FILE": str(file)}).text("NAME", "plain", "") == "plain"


def test_a_secret_that_is_set_twice_is_refused_without_showing_it(tmp_path):
    with pytest.raises(ConfigurationError, match="KEY and KEY_FILE are both set: keep one") as refused:
        Environment({"KEY": "s3cret", "KEY_FILE": str(tmp_path)}).text("KEY", "", "", secret=True)
    assert "s3cret" not in str(refused.value)


def test_a_secret_file_that_is_absent_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"KEY_FILE='.*nowhere' cannot be read: No such file or directory"):
        Environment({"KEY_FILE": str(tmp_path / "nowhere")}).text("KEY", "", "", secret=True)


def test_every_setting_describes_itself():
    env = Environment({})
    env.section("Colours")
    env.text("A", "red", "Which.", choices=("red", "green"))
    env.integer("B", 3, "How many.", minimum=1, maximum=9, alias="OLD_B")
    env.text("C", "hidden", "What.", secret=True, shown="made for you")

    first, second, third = env.declared
    assert (first.name, first.kind, first.default, first.section) == ("A", r"red \| green", "red", "Colours")
    assert (second.kind, second.help) == ("1..9", "How many. Also read as `OLD_B`.")
    assert (third.kind, third.default, third.secret) == ("secret", "made for you", True)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("MEMOS_LLM_ENABLE", "MEMOS_LLM_ENABLED"),
        ("MEMOS_LLM_GATES", "MEMOS_LLM_GATE"),
        ("MEMOS_DATABASE_URL", "DATABASE_URL"),
        ("memos_llm_enabled", "MEMOS_LLM_ENABLED"),
        ("MEMOS_SECRETKEY_FILE", "MEMOS_SECRET_KEY_FILE"),
        ("MEMOS_COLOUR", ""),
    ],
)
def test_a_misspelt_setting_is_named_with_the_nearest(name, nearest):
    env = Environment({name: "1", "MEMOS_PORT": "1", "MEMOS_API_PORT": "1", "MEMOS_API_KEY": "k", "HOME": "/"})
    env.flag("MEMOS_LLM_ENABLED", False, "")
    env.flag("MEMOS_LLM_GATE", False, "")
    env.text("DATABASE_URL", "", "", secret=True)
    env.text("MEMOS_SECRET_KEY", "", "", secret=True)
    env.integer("MEMOS_PORT", 1, "", alias="MEMOS_API_PORT")

    assert env.find_unknown() == {name: nearest}
