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
    "number",
    [
        *("+49 151 2345678", "+49-151-2345678", "+49 151/2345678", "+49 (0)151 2345678", "+49\u00a0151\u00a02345678"),
        *("+49 151 – 2345678", "+33 6 12 34 56 78", "+34 612 34 56 78", "+39 347 123 4567", "+44 (0)7911 123456"),
        *("+1 (415) 555-2671", "+1.415.555.2671", "+7 (912) 345-67-89", "+55 11 91234-5678", "+91 98765 43210"),
        *("+61 412 345 678", "+972 50-123-4567", "+81 90-1234-5678", "+86 138 1234 5678", "0033 6 12 34 56 78"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "Meine Nummer ist {}.", "({})", "我的电话是{}。", "Appelle-moi au {}, merci"])
def test_numbers_with_their_countrys_code_are_found_in_any_language(number, frame):
    assert _redacted(frame.format(number)) == frame.format("[redacted: phone number]")


@pytest.mark.parametrize("text", ["+86 138 1234 5678 人事部", "+8613812345678 个人电话", "+49 151 2345678 people@work"])
def test_what_follows_a_number_in_groups_makes_no_amount_of_it(text):
    assert _redacted(text).startswith("[redacted: phone number] ")


@pytest.mark.parametrize("text", ["ruf mich an: 0049 151 2345678", "тел: 0049 151 2345678"])
def test_a_number_that_no_plan_lists_is_believed_where_a_phone_is_spoken_of(text):
    assert _redacted(text) == text.replace("0049 151 2345678", "[redacted: phone number]")


@pytest.mark.parametrize(
    "text",
    [
        *("order +491512345 is late", "Order no. 0049 1512 3456", "serial +49 1512 3456 78", "0012 0034 0056 0078"),
        *("2026-11-22 13:45:59+02:00", "2026-11-22T13:45:59 +0200", "+2026-11-22", "+2024 11 22", "GMT +0530"),
        *(
            "+48.8566, +2.3522",
            "lat +52.520008 lon +13.404954",
            "+22.492898 +68.820035",
            "N +52 31 12.025 E +13 24 17.8",
        ),
        *("IBAN DE89 3704 0044 0532 0130 00", "FR76 3000 6000 0112 3456 7890 189", "ISBN +978 3 16 148410 0"),
        *("+12 345 678 users this year", "Umsatz +33 600 000 000 Euro", "+49 000 000 units", "delta +6738715000 bytes"),
        *("@@ +10,7 -10,7 @@", "+3.14159265358979", "+1700000000", "+100 000 000", "+7 912 000 000 rubles turnover"),
        *("DHL 0034 0434 2921 3510 0186", "00 12 34 56 78", "+12 13 14 15 16", "+1 000 000 users"),
    ],
)
def test_amounts_dates_places_and_other_numbers_with_a_plus_are_left(text):
    found = find_personal_data(text, kinds={PersonalDataKind.PHONE}, region="US")
    assert [text[one.start : one.end] for one in found] == []


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
