"""Files in encodings other than UTF-8 are read by their mark or declaration, or else by a guess, which is reported."""

from __future__ import annotations

import base64

import pytest

from memory.parsers.encoding import decode
from memory.parsers.mail import read_mail
from memory.parsers.refusal import FileRefused

CHINESE = [
    "客户,金额\n苏州分公司,1200\n", "苏州分公司的报价是一千二百元。", "姓名,电话\n张伟,13800000000\n李娜,13900000000\n",
    "我住在上海，喜欢喝茶。会议改到周五下午三点。", "中文,English\n苹果,apple\n", "报价单 v2 (final).xlsx 在共享盘里",
    "你好", "苏州",
]  # fmt: skip
GUESSED = {
    "gbk": CHINESE,
    "gb18030": [*CHINESE, "苏州㐀分公司的报价是一千二百元。"],
    "big5": ["客戶,金額\n臺北分公司,1200\n", "會議改到星期五下午三點，請各位準備資料。",
             "訂單編號,品名\n1001,電腦\n", "你好"],
    "shift_jis": ["顧客,金額\n東京支店,1200\n", "会議は金曜日の午後三時に変更されました。",
                  "カタカナとひらがな", "山田太郎様"],
    "euc_jp": ["会議は金曜日の午後三時に変更されました。", "請求書は緑の机に置いてください。"],
    "euc_kr": ["고객,금액\n서울 지점,1200\n", "회의는 금요일 오후 세 시로 변경되었습니다.", "안녕하세요", "김철수"],
    "cp1252": [
        "Käufer;Betrag\nZürich;1.200 €\n", "Zürich café", "Le déjeuner est à midi, à côté de l’hôtel.", "naïve façade",
        "Señor Núñez comió jalapeños mañana.", "São João não é", "Ærø øl på ås", "10 €", "± 5 °C",
        "It’s “fine” – really",
    ],
    "cp1250": ["Klient;Kwota\nŁódź;1200\n", "Zażółć gęślą jaźń", "Příliš žluťoučký kůň"],
    "cp1251": ["Клиент;Сумма\nМосква;1200\n", "Встреча перенесена на пятницу в три часа."],
    "utf-16-le": ["客户,金额\n苏州分公司,1200\n", "Käufer;Betrag\nZürich;1.200 €\n"],
    "utf-16-be": ["客户,金额\n苏州分公司,1200\n", "Hello"],
}  # fmt: skip


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in GUESSED.items() for text in texts])
def test_a_text_that_does_not_say_how_it_is_encoded(encoding, text):
    found = decode(text.encode(encoding))
    assert (found.text, found.guessed) == (text, True)
    assert found.notes == [
        f"The file does not say how it is encoded: it was read as {found.encoding}, which was guessed."
    ]


PAGE = '<html><head><meta charset="{}"></head><body>{}</body></html>'
OLD_PAGE = "<meta http-equiv='Content-Type' content='text/html; charset={}'><p>{}</p>"
XML = '<?xml version="1.0" encoding="{}"?><p>{}</p>'


@pytest.mark.parametrize("page", [PAGE, OLD_PAGE, XML])
@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("gb2312", "gbk", "镕基"), ("GBK", "gbk", "苏州"), ("big5", "big5", "臺北"), ("Shift_JIS", "cp932", "①東京"),
        ("x-sjis", "shift_jis", "東京"), ("EUC-JP", "euc_jp", "東京"), ("euc-kr", "cp949", "똠방각하"),
        ("ks_c_5601-1987", "euc_kr", "서울"), ("iso-8859-1", "cp1252", "Zürich – 10 €"),
        ("iso-8859-2", "iso8859-2", "Łódź"),
        ("windows-1251", "cp1251", "Да"), ("koi8-r", "koi8_r", "Да"), ("iso-2022-jp", "iso2022_jp", "東京"),
        ("utf-8", "utf-8", "苏州"), ("gb2312", "utf-8", "苏州"), ("utf-16", "utf-8", "苏州"),
    ],
)  # fmt: skip
def test_a_page_is_read_as_it_declares(page, declared, encoding, text):
    whole = page.format(declared, text)
    found = decode(whole.encode(encoding))
    assert (found.text, found.guessed, found.notes) == (whole, False, [])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_a_mark_says_how_a_text_is_encoded(encoding):
    found = decode("客户,金额\r\n苏州,1\r".encode(encoding))
    assert (found.text, found.guessed) == ("客户,金额\n苏州,1\n", False)


def test_a_declaration_that_does_not_hold_is_not_followed():
    found = decode(PAGE.format("euc-jp", "苏州分公司的报价是一千二百元，€").encode("gb18030"))
    assert "苏州分公司的报价" in found.text
    found = decode(PAGE.format("no-such-code", "苏州分公司的报价").encode("gbk"))
    assert ("苏州分公司" in found.text, found.guessed) == (True, True)


@pytest.mark.parametrize("data", [b"a\0b" * 40, "größer, Grüße".encode()[:-1] + b"\xff", bytes(range(128, 256)) * 9])
def test_what_is_no_text_is_refused(data):
    with pytest.raises(FileRefused):
        decode(data)


@pytest.mark.parametrize("charset", ["gb2312", "", "unknown-8bit"])
def test_a_message_of_an_old_program(charset):
    """The subject, the file name and the body are bytes of GBK, whatever charset the message declares."""
    kind = f"text/plain; charset={charset}" if charset else "text/plain"
    lines = [
        "From: 张镕基 <a@b.c>",
        "Subject: 苏州分公司的报价",
        f"Content-Type: {kind}",
        "",
        "报价是一千二百元，镕基。",
        "",
    ]
    text, subject, notes = read_mail("\n".join(lines).encode("gbk"))
    assert subject == "苏州分公司的报价"
    assert "报价是一千二百元，镕基。" in text
    assert ("张镕基 <a@b.c>" in text) or charset != "gb2312"
    assert bool(notes) == (charset != "gb2312")


def test_words_of_a_header_in_a_larger_code_page_than_they_say():
    word = base64.b64encode("镕基的报价".encode("gbk")).decode()
    text, subject, _ = read_mail(f"From: =?gb2312?B?{word}?= <a@b.c>\nSubject: =?GB2312?B?{word}?=\n\nx\n".encode())
    assert subject == "镕基的报价"
    assert "From: 镕基的报价 <a@b.c>" in text
