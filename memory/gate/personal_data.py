"""Finds personal data: by form, then by what the form's own check says (check digits, numbering plans)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import phonenumbers
from stdnum import iban, luhn
from stdnum.cn import ric
from stdnum.exceptions import ValidationError
from stdnum.us import ssn

from memory.enums import PersonalDataKind
from memory.gate.redaction import Found

_EMAIL = re.compile(
    r"(?<![\w.+\-@])[\w+\-](?:[\w.+\-]{0,62}+)@(?:[A-Za-z0-9\-]{1,63}\.){1,4}[A-Za-z]{2,24}(?![\w\-@])", re.ASCII
)
# Digits with single separators, and whether a plus stands before them: a number of any kind.
_NUMBER = re.compile(r"(?<![\w.\-+/:#=])\+?\(?\d(?:[ \-.]?[()]?\d){5,22}[Xx]?(?![\w])(?![\-/.:]\d)", re.ASCII)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_PHONE_CUE = re.compile(
    r"phone|\btel\b|mobile|\bcell|\bcall|\btext\b|\bring\b|whatsapp|\bfax|\bsms|reach (?:me|him|her|us|them)|\bdial"
    r"|电话|手机|拨打|联系|致电|短信|传真|号码",
    re.IGNORECASE,
)
_OTHER_CUE = re.compile(
    r"order|invoice|tracking|ticket|isbn|serial|reference|\bref\b|\bsku\b|case|transaction|parcel|shipment|receipt"
    r"|model|part n|\bid\b|commit"
    r"|version|timestamp|订单|单号|快递|运单|编号|流水|发票|序列号|型号|版本",
    re.IGNORECASE,
)
_SSN_CUE = re.compile(r"\bssn\b|social security", re.IGNORECASE)
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_CUE_CHARS = 40
_CARD_DIGITS = range(13, 20)


def find_personal_data(text: str, *, kinds: Collection[PersonalDataKind], region: str) -> list[Found]:
    """The personal data of `kinds` in `text`; `region` (two letters) is where a phone number without a country code
    belongs. Linear in the length of `text`."""
    found = list(_of_form(text, region))
    wanted = {PersonalDataKind(kind).label for kind in kinds}
    return [one for one in found if one.kind in wanted]


def _of_form(text: str, region: str) -> Iterator[Found]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield Found(PersonalDataKind.EMAIL.label, match.start(), match.end(), 0.95)
    for match in _IBAN.finditer(text):
        if iban.is_valid(match[0]):
            yield Found(PersonalDataKind.IBAN.label, match.start(), match.end(), 0.97)
    for match in _NUMBER.finditer(text):
        kind, score = _number_kind(text, match, region)
        if kind is not None:
            yield Found(kind.label, match.start(), match.end(), score)


def _number_kind(text: str, match: re.Match[str], region: str) -> tuple[PersonalDataKind | None, float]:
    number = match[0]
    digits = "".join(character for character in number if character.isalnum())
    before = text[max(0, match.start() - _CUE_CHARS) : match.start()]
    if len(digits) == 18 and ric.is_valid(digits):
        return PersonalDataKind.IDENTITY, 0.97
    if len(digits) == 9 and (re.fullmatch(r"\d{3}-\d{2}-\d{4}", number) or _SSN_CUE.search(before)):
        return (PersonalDataKind.IDENTITY, 0.9) if _is_ssn(digits) else (None, 0.0)
    if not digits.isdigit():
        return None, 0.0
    if len(digits) in _CARD_DIGITS and digits[0] in "23456" and luhn.is_valid(digits) and not number.startswith("+"):
        return (PersonalDataKind.CARD, 0.95) if not _OTHER_CUE.search(before) else (None, 0.0)
    return (PersonalDataKind.PHONE, 0.85) if _is_phone(number, digits, before, region) else (None, 0.0)


def _is_phone(number: str, digits: str, before: str, region: str) -> bool:
    international = number.startswith("+")
    chinese = _CHINESE_MOBILE.fullmatch(digits) is not None
    cued = _PHONE_CUE.search(before) is not None
    if not international and _OTHER_CUE.search(before) and not cued:
        return False
    grouped = re.fullmatch(r"\(?\d{3}\)?[ \-.]\d{3}[ \-.]\d{4}", number) is not None
    if not (international or chinese or cued or grouped) or len(digits) > 15:
        return False
    try:
        return phonenumbers.is_valid_number(
            phonenumbers.parse(number, "CN" if chinese and not international else region)
        )
    except phonenumbers.NumberParseException:
        return False


def _is_ssn(digits: str) -> bool:
    try:
        return bool(ssn.validate(digits))
    except ValidationError:
        return False
