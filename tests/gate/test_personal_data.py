from __future__ import annotations

import pytest

from memory.enums import PersonalDataKind
from memory.gate.personal_data import find_personal_data
from memory.gate.redaction import redact

EVERY = frozenset(PersonalDataKind)


def _redacted(text: str, *, kinds=EVERY, region: str = "US") -> str:
    return redact(text, find_personal_data(text, kinds=kinds, region=region))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("mail bob.smith@acme.co.uk now", "mail [redacted: e-mail address] now"),
        ("call 415-555-2671 or +44 20 7946 0958", "call [redacted: phone number] or [redacted: phone number]"),
        ("我的手机是13812345678。", "我的手机是[redacted: phone number]。"),
        ("card 4111 1111 1111 1111 exp 10/29", "card [redacted: bank card number] exp 10/29"),
        ("IBAN GB82 WEST 1234 5698 7654 32.", "IBAN [redacted: bank account number]."),
        ("身份证11010519491231002X。", "身份证[redacted: identity number]。"),
        ("my SSN is 536-22-8145", "my SSN is [redacted: identity number]"),
    ],
)
def test_finds_what_its_own_check_confirms(text, kept):
    assert _redacted(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "order 13812345678 has shipped",
        "订单号13812345678到了",
        "card 4111 1111 1111 1112",
        "IBAN GB82 WEST 1234 5698 7654 33",
        "身份证110105194912310021",
        "on 2023-05-08 13:45:59 from 10.0.0.12:8080, v1.2.3",
        "1,234,567.89 dollars and 1700000000 seconds",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "a@b and @anna and anna@localhost",
    ],
)
def test_numbers_that_only_look_alike_are_left(text):
    assert _redacted(text) == text


def test_only_the_kinds_asked_for_are_found():
    text = "anna@example.org, +44 20 7946 0958"

    assert _redacted(text, kinds={PersonalDataKind.EMAIL}) == "[redacted: e-mail address], +44 20 7946 0958"
    assert _redacted(text, kinds=set()) == text


def test_a_number_without_country_code_belongs_to_the_region():
    text = "call 020 7946 0958"

    assert _redacted(text, region="GB") == "call [redacted: phone number]"
    assert _redacted(text, region="US") == text
