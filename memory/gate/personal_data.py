"""Finds personal data by its form, confirmed by check digits and numbering plans."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import phonenumbers
from stdnum import iban, luhn
from stdnum.cn import ric
from stdnum.exceptions import ValidationError
from stdnum.us import ssn

from memory.enums import GateAction, PersonalDataKind
from memory.gate.findings import GateFindings, GateInput, explain_marks
from memory.gate.redaction import Detection

_EMAIL = re.compile(
    r"(?<![\w.+\-@])[\w+\-](?:[\w.+\-]{0,62}+)@(?:[A-Za-z0-9\-]{1,63}\.){1,4}[A-Za-z]{2,24}(?![\w\-@])", re.ASCII
)
# Matches any number: digits with single separators, and possibly a plus.
_NUMBER = re.compile(r"(?<![\w.\-+/:#=])\+?\(?\d(?:[ \-.]?[()]?\d){5,22}[Xx]?(?![\w])(?![\-/.:]\d)", re.ASCII)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_PHONE_CUE = re.compile(
    r"phone|\btel\b|mobile|\bcell|\bcall|\btext\b|\bring\b|whatsapp|\bfax|\bsms|reach (?:me|him|her|us|them)|\bdial"
    r"|电话|手机|拨打|联系|致电|短信|传真|号码"
    r"|telef|téléph|teléf|\bhandy|rufnummer|\bruf |anruf|appel|llám|llam|chiam|móvil|celular|cellulare|telemóvel"
    r"|телефон|\bтел\b|звони|мобильн|電話|携帯|전화|휴대폰|هاتف|جوال|फ़ोन|फोन",
    re.IGNORECASE,
)
_OTHER_CUE = re.compile(
    r"order|invoice|tracking|ticket|isbn|serial|reference|\bref\b|\bsku\b|case|transaction|parcel|shipment|receipt"
    r"|model|part n|\bid\b|commit"
    r"|version|timestamp|订单|单号|快递|运单|编号|流水|发票|序列号|型号|版本",
    re.IGNORECASE,
)
# Matches what follows a number that is an amount.
_AMOUNT = re.compile(
    r" ?(?:[€$£¥%]|eur\b|euros?\b|usd\b|dollars?\b|pounds?\b|yen\b|yuan\b|rubles?\b|rub\b|bytes?\b|[kmgt]b\b|ms\b"
    r"|seconds?\b|units?\b|users?\b|people\b|views\b|downloads\b|km\b|kg\b|(?:元|人|次|万|亿|个|美元|欧元)(?![\u4e00-\u9fff]))",
    re.IGNORECASE,
)
# Matches a number with a country code as people write it: in groups, with a 0 in brackets, with any dash. The time is
# linear, because at most three separators, which aren't digits, are between two digits.
_INTERNATIONAL = re.compile(
    r"(?<![A-Za-z0-9_.\-+/:#=])(?:[+＋] ?|00 ?)[1-9](?:[ \u00a0\u2009\u202f.\-\u2010-\u2014/()]{0,3}[0-9]){6,17}"
    r"(?![A-Za-z0-9_])(?![\-/.,:]\d)"
)
_TRUNK_ZERO = re.compile(r"\(0\)")
_DECIMAL = re.compile(r"\d{1,3}\.\d{1,8}")
_THOUSANDS = re.compile(r"\d{1,3}(?:[ \u00a0\u2009\u202f.]\d{3})+")
_GROUP = re.compile(r"[0-9]+")
_LEAST_SPACED_DIGITS = 9
_LEAST_JOINED_DIGITS = 11
_SSN_CUE = re.compile(r"\bssn\b|social security", re.IGNORECASE)
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_CUE_CHARS = 40
_CARD_DIGITS = range(13, 20)


def detect(turn: GateInput) -> GateFindings:
    policy = turn.policy
    if policy.personal_data == GateAction.OFF:
        return GateFindings(policy.personal_data, [])
    found = find_personal_data(turn.text, kinds=policy.personal_kinds, region=policy.region)
    return GateFindings(policy.personal_data, explain_marks("personal_data", found), found)


def find_personal_data(text: str, *, kinds: Collection[PersonalDataKind], region: str) -> list[Detection]:
    """Return the personal data of `kinds` in `text`, in linear time.

    `region` (two letters) is the country of phone numbers without a country code.
    """
    found = list(_of_form(text, region))
    wanted = {PersonalDataKind(kind).label for kind in kinds}
    return [one for one in found if one.kind in wanted]


def _of_form(text: str, region: str) -> Iterator[Detection]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield Detection(PersonalDataKind.EMAIL.label, match.start(), match.end(), 0.95)
    for match in _IBAN.finditer(text):
        if iban.is_valid(match[0]):
            yield Detection(PersonalDataKind.IBAN.label, match.start(), match.end(), 0.97)
    international = [match for match in _INTERNATIONAL.finditer(text) if _is_international_phone(text, match)]
    for match in international:
        yield Detection(PersonalDataKind.PHONE.label, match.start(), match.end(), 0.85)
    taken = [(match.start(), match.end()) for match in international]
    for match in _NUMBER.finditer(text):
        while taken and taken[0][1] <= match.start():
            taken.pop(0)
        if taken and taken[0][0] < match.end():
            continue
        kind, score = _number_kind(text, match, region)
        if kind is not None:
            yield Detection(kind.label, match.start(), match.end(), score)


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
    if number.startswith("+"):
        return False  # see _is_international_phone
    chinese = _CHINESE_MOBILE.fullmatch(digits) is not None
    cued = _PHONE_CUE.search(before) is not None
    if _OTHER_CUE.search(before) and not cued:
        return False
    grouped = re.fullmatch(r"\(?\d{3}\)?[ \-.]\d{3}[ \-.]\d{4}", number) is not None
    if not (chinese or cued or grouped) or len(digits) > 15:
        return False
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, "CN" if chinese else region))
    except phonenumbers.NumberParseException:
        return False


def _is_international_phone(text: str, match: re.Match[str]) -> bool:
    """Tell whether a number that starts with + or 00 is a phone number.

    It is if it is valid in its country's numbering plan. It also is if the plan has its length, the country code stands
    apart, and it isn't an amount: plans don't list every block in use, and people invent numbers, but their groups
    distinguish them from other numbers.
    """
    number = _TRUNK_ZERO.sub("", match[0])
    bare = number.lstrip("+＋ ")
    bare = bare[2:].lstrip() if number.startswith("00") else bare
    in_thousands = _THOUSANDS.fullmatch(bare) is not None
    could_be_amount = in_thousands or bare.isdigit()
    if _DECIMAL.fullmatch(bare) or (could_be_amount and _AMOUNT.match(text, match.end())):
        return False
    try:
        parsed = phonenumbers.parse("+" + "".join(_GROUP.findall(bare)), None)
    except phonenumbers.NumberParseException:
        return False
    before = text[max(0, match.start() - _CUE_CHARS) : match.start()]
    cued, of_other_kind = _PHONE_CUE.search(before) is not None, _OTHER_CUE.search(before) is not None
    if phonenumbers.is_valid_number(parsed):
        return cued or number[0] != "0" or not of_other_kind
    if phonenumbers.is_possible_number_with_reason(parsed) != phonenumbers.ValidationResult.IS_POSSIBLE:
        return False
    if cued:
        return True
    groups = _GROUP.findall(bare)
    apart = groups[0] == str(parsed.country_code)
    least = _LEAST_SPACED_DIGITS if len(groups) > 2 else _LEAST_JOINED_DIGITS
    return number[0] != "0" and apart and sum(map(len, groups)) >= least and not of_other_kind and not in_thousands


def _is_ssn(digits: str) -> bool:
    try:
        return bool(ssn.validate(digits))
    except ValidationError:
        return False
