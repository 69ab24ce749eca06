"""Files are parsed in a separate process: hostile ones first, then headings, pages and tables."""

from __future__ import annotations

import json
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from memory.parsers import archive, landlock, office, process
from memory.parsers.process import ParserLimits, parse
from memory.parsers.refusal import FileRefused
from tests.parsers import made_files as made

LIMITS = ParserLimits(memory=1024**3, cpu_seconds=20, seconds=60, max_pages=100, max_chars=200_000)


def read(folder: Path, content: bytes | str, name: str, **limits: object):
    path = folder / "sent"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse(path, name, LIMITS if not limits else ParserLimits(**{**_fields(), **limits}))


def _fields() -> dict[str, object]:
    return {name: getattr(LIMITS, name) for name in ParserLimits.__slots__}


def overlapping() -> bytes:
    """Make a zip in which two members share the same bytes."""
    content = bytearray(made.pack({"[Content_Types].xml": "a" * 50_000, "word/document.xml": "b" * 50_000}))
    first = content.find(b"PK\x01\x02")
    second = content.find(b"PK\x01\x02", first + 4)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    return bytes(content)


def large_directory() -> bytes:
    """Make a zip whose end gives ten bytes, while the larger form's end before it gives 100,000 parts."""
    entry = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
    directory = entry * 100_000
    start = b"PK\x03\x04" + bytes(27)
    sizes = (100_000, 100_000, len(directory), len(start))
    large = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, *sizes)
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, len(start) + len(directory), 1)
    return start + directory + large + locator + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, 10, 0, 0)


LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 12))
    + "]>"
)
TEXT = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
HOSTILE = {
    "empty": (b" \n", "a.txt", "empty"),
    "zip bomb": (made.raw_docx("", more={"word/x.xml": b"0" * 80_000_000}), "a.docx", "bomb"),
    "bomb that lies about its size": (
        made.raw_docx(TEXT.format("x"), more={"word/x.xml": b"0" * 80_000_000}).replace(
            (80_000_000).to_bytes(4, "little"), (80_000).to_bytes(4, "little")
        ),
        "a.docx",
        {"bomb", "damaged", ""},
    ),
    "overlapping parts": (overlapping(), "a.docx", "bomb"),
    "many parts": (made.pack({f"{n}": "" for n in range(5_001)}), "a.docx", "bomb"),
    "nested archives": (made.pack({"a.zip": made.pack({"b.zip": made.pack({"c": "d"})})}), "a.zip", "unsupported"),
    "path out of it": (made.raw_docx("", more={"../../evil": "x"}), "a.docx", "damaged"),
    "xxe": (
        made.raw_docx(TEXT.format("&x;"), head='<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "a.docx",
        "unsafe_xml",
    ),
    "billion laughs": (made.raw_docx(TEXT.format("&a11;"), head=LAUGHS), "a.docx", "unsafe_xml"),
    # The parser exhausts its stack, without affecting other processes.
    "deep xml": (made.raw_docx("<w:p>" * 200_000), "a.docx", {"damaged", "bomb", "crashed"}),
    "cut off docx": (made.docx()[:9_000], "a.docx", "damaged"),
    "cut off pdf": (made.pdf()[:1_500], "a.pdf", {"damaged", "no_text"}),
    "pages without end": (made.many_pages_pdf(50_000), "a.pdf", "too_large"),
    "pdf of pictures": (made.picture_pdf(), "a.pdf", "no_text"),
    "text that calls itself pdf": (b"Not a PDF.", "a.pdf", "mislabelled"),
    "docx that calls itself text": (made.docx(1), "a.txt", "mislabelled"),
    "docx that calls itself xlsx": (made.docx(1), "a.xlsx", "mislabelled"),
    "program": (b"\x7fELF" + b"\0" * 400, "a.txt", "unsupported"),
    "old word": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, "a.docx", "unsupported"),
    "damaged utf-8": ("Grüße aus Zürich, größer".encode().replace("ö".encode(), b"\xc3"), "a.txt", "encoding"),
    "bytes of no language": (bytes(range(0x80, 0x100)) * 50, "a.txt", "encoding"),
    "sheet without end": (made.wide_xlsx(), "a.xlsx", ""),
    "deep json": ("[" * 100_000 + "]" * 100_000, "a.json", "too_large"),
    "no json": ('{"a": ', "a.json", "damaged"),
    "long text": ("word " * 50_000, "a.txt", "too_large"),
    "page without text": ("<html><script>x</script></html>", "a.html", "no_text"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_with_its_reason(tmp_path, kind):
    content, name, reasons = HOSTILE[kind]
    allowed = {reasons} if isinstance(reasons, str) else reasons
    try:
        ended = read(tmp_path, content, name).text, "", "."
    except FileRefused as refusal:
        ended = "", refusal.reason, refusal.says
    text, reason, says = ended
    assert reason in allowed
    assert says.endswith(".")
    assert "passwd" not in says
    assert len(text) < 1_000


@pytest.mark.parametrize(
    ("program", "limits", "reason"),
    [
        ("import time; time.sleep(600)", {"seconds": 1.5}, "wall_time"),
        ("while True: pass", {"cpu_seconds": 1}, "cpu_time"),
        ("x = []\nwhile True: x.append(bytearray(10**7))", {"memory": 512 * 1024**2}, "memory"),
        ("import ctypes; ctypes.string_at(0)", {}, "crashed"),
        ("import os; os._exit(0)", {}, "crashed"),
        ("open('found.json', 'w').write('[]')", {}, "crashed"),
        ("open('found.json', 'w').write('{\"text\": 7}')", {}, "crashed"),
        ("open('found.json', 'wb').write(b'x' * 10**8)", {}, "crashed"),
    ],
)
def test_a_parser_that_breaks_out_is_ended(tmp_path, monkeypatch, program, limits, reason):
    """Act as a parser that a file has taken over, which is confined before it runs."""
    _instead_of_the_parser(monkeypatch, program)
    children = []
    path = tmp_path / "sent"
    path.write_text("Text.")

    with pytest.raises(FileRefused) as refused:
        parse(path, "a.txt", ParserLimits(**{**_fields(), **limits}), watch=children.append)
    assert refused.value.reason == reason
    assert not Path(f"/proc/{children[0]}").exists()


@pytest.mark.parametrize(
    "deed",
    [
        "import socket; socket.socket()",
        "import socket; socket.create_connection(('127.0.0.1', 5432), 1)",
        "import os; os.execv('/bin/true', ['true'])",
        "import subprocess; subprocess.run(['/bin/true'], check=True)",
        "import os; os.kill(os.getppid(), 0)",
        "import os; os.fork() or os._exit(0)",
        "import threading; kept.append(threading.Thread(target=print)); kept[0].start(); kept[0].join(); raise OSError",
        "open('/proc/%d/environ' % __import__('os').getppid()).read()",
        "open('/proc/%d/mem' % __import__('os').getppid(), 'r+b')",
        "[open('f%d' % n, 'w') for n in range(200)].clear()",
        "f = open('large', 'wb'); [f.write(b'x' * 10**7) for n in range(10)]",
        "assert 'MEMOS_DATABASE' in __import__('os').environ",
    ],
)
def test_a_parser_has_neither_network_nor_programs_nor_environment(tmp_path, monkeypatch, deed):
    monkeypatch.setenv("MEMOS_DATABASE", "secret")
    _instead_of_the_parser(
        monkeypatch,
        f"import json\nkept = []\ntry:\n    {deed}\n    said = 'done'\nexcept (OSError, AssertionError) as error:\n"
        "    said = 'refused'\njson.dump({'refused': 'damaged', 'says': said}, open('found.json', 'w'))",
    )
    path = tmp_path / "sent"
    path.write_text("Text.")
    deed_keeps_files = "range(200)" in deed

    with pytest.raises(FileRefused) as refused:
        parse(path, "a.txt", LIMITS)
    assert refused.value.says == "refused" or deed_keeps_files


@pytest.mark.skipif(not landlock.read_version(), reason="The kernel has no Landlock (Linux 5.13), or it is turned off.")
@pytest.mark.parametrize(
    "deed",
    [
        "open('/etc/passwd').read()",
        "open('/proc/1/cmdline').read()",
        "open('/proc/self/root/etc/passwd').read()",
        "os.listdir(os.path.expanduser('~root'))",
        "os.listdir('{root}')",
        "open('{root}/pyproject.toml').read()",
        "open('{settings}/.env').read()",
        "open('{settings}/new', 'w')",
        "os.truncate('{settings}/.env', 0)",
        "os.unlink('{settings}/.env')",
        "os.link('{settings}/.env', 'linked')",
        "os.rename('given', '{settings}/given')",
        "os.symlink('{settings}/.env', 'aside') or open('aside').read()",
        "os.mkdir('{root}/memory/parsers/new')",
        "open('{root}/memory/parsers/confine.py', 'a')",
        "open('/tmp/new', 'w')",
        "open('/dev/shm/new', 'w')",
        "threading.Thread(target=lambda: open('read', 'w').write(open('/etc/passwd').read())).start() or "
        "time.sleep(0.3) or open('read').read(1) or open('/etc/passwd')",
    ],
)
def test_a_parser_reads_nothing_but_its_code_and_writes_only_into_its_own_folder(tmp_path, monkeypatch, deed):
    (settings := tmp_path / "project").mkdir()
    (settings / ".env").write_text("MEMOS_SECRET_KEY=secret")
    deed = deed.format(root=process._ROOT, settings=settings)
    _instead_of_the_parser(
        monkeypatch,
        "import threading, time\nopen('mine', 'w').write('x'); os.mkdir('inner'); os.rename('mine', 'inner/mine')\n"
        f"try:\n    {deed}\n    said = 'done'\nexcept OSError as error:\n    said = 'refused'\n"
        "said += open('inner/mine').read() + str(len(open(json.__file__).read()) > 0)\n"
        "json.dump({'refused': 'damaged', 'says': said}, open('found.json', 'w'))",
    )
    path = tmp_path / "sent"
    path.write_text("Text.")

    with pytest.raises(FileRefused) as refused:
        parse(path, "a.txt", LIMITS)
    assert refused.value.says == "refusedxTrue"
    assert (settings / ".env").read_text() == "MEMOS_SECRET_KEY=secret"
    assert [one.name for one in settings.iterdir()] == [".env"]


def test_what_a_parser_that_was_taken_over_says_is_not_believed(tmp_path, monkeypatch):
    found = {"kind": "text", "text": "a\0b\ud800" * 9, "markdown": 1, "title": "\0", "pages": 10**30, "tables": -1,
             "parser": "p" * 999, "peak": 10**30, "notes": ["n" * 999] * 99}  # fmt: skip
    _instead_of_the_parser(monkeypatch, f"json.dump({found!r}, open('found.json', 'w'))")
    path = tmp_path / "sent"
    path.write_text("Text.")
    parsed = parse(path, "a.txt", ParserLimits(**{**_fields(), "max_chars": 8}))

    assert (parsed.text, parsed.title, parsed.tables, len(parsed.parser)) == ("abab", "", 0, 60)
    assert (len(parsed.notes), {len(note) for note in parsed.notes}) == (20, {500})
    assert parsed.pages == 2**31 - 1
    assert parsed.peak is not None
    assert parsed.peak < 2**63


def _instead_of_the_parser(monkeypatch, program: str) -> None:
    confined = (
        "import json, os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from memory.parsers.confine import ProcessLimits, confine\n"
        "a = json.load(open('asked.json'))\n"
        "confine(ProcessLimits(a['memory'], a['cpu_seconds'], a['file_bytes']), parent=a['parent'])\n"
    )
    monkeypatch.setattr(process, "_START", confined + program)


def test_headings_and_pages_of_a_pdf(tmp_path):
    found = read(tmp_path, made.pdf(3), "handbook.PDF")

    assert (found.kind, found.pages, found.title, found.markdown) == ("pdf", 3, "Handbook", True)
    pages = found.text.split("\f")
    assert len(pages) == 3
    assert pages[1].strip().startswith("# Chapter 2\n\n## Duties 2")
    assert found.parser == office.name_version()
    assert found.peak is not None
    assert found.seconds > 0


def test_tables_and_sheets_and_slides(tmp_path):
    word = read(tmp_path, made.docx(3), "accounts.docx")
    assert word.text.startswith(
        "# Invoices\n\nInvoices go to the green desk.\n\n## Totals\n\n| Customer | Month | Total |"
    )
    assert (word.title, word.pages, word.tables) == ("Accounts", None, 1)

    sheets = read(tmp_path, made.xlsx(3), "stock.xlsx")
    assert sheets.text.startswith("## Prices\n\n| Item | Price |")
    assert "## Stock\n\n| Item | Count |" in sheets.text

    deck = read(tmp_path, made.pptx(4), "plan.pptx")
    assert (deck.pages, deck.tables) == (4, 1)
    assert "Say hello first." in deck.text.split("\f")[0]
    assert "| Customer | Month | Total |" in deck.text.split("\f")[3]


def test_a_page_of_the_web(tmp_path):
    found = read(tmp_path, made.PAGE, "page")

    assert (found.kind, found.title, found.tables) == ("html", "Opening hours", 1)
    assert found.text == (
        "Home\n\n# Hours\n\nThe library opens at nine.\n\n## Weekend\n\n- Saturday: ten\n\n- Sunday: closed\n\n"
        "| Day | From |\n| --- | --- |\n| Monday | 9 \\| 10 |\n\n    a  b\n    c"
    )


def test_a_mail(tmp_path):
    found = read(tmp_path, made.MAIL, "message")

    assert (found.kind, found.title) == ("eml", "The café closes")
    assert found.text.startswith(
        "# The café closes\n\nFrom: Ada <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Mon,"
    )
    assert "From Monday on the cafe closes at five.\n\nAttachments (not read): plan.pdf" in found.text
    assert "Obey" not in found.text


@pytest.mark.parametrize(
    ("content", "name", "text"),
    [
        ("a;b\n1;x|y\n;\n2", "t.csv", "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n| 2 |  |"),
        ('{"a": {"b": [1, "two"]}, "c": null}', "t.json", "a.b[0]: 1\na.b[1]: two\nc: null"),
        ('{"a": 1}\n{"a": 2}\n', "t.jsonl", "[0].a: 1\n[1].a: 2"),
        ("\ufeffHello\r\nthere\x07", "t.txt", "Hello\nthere"),
        ("Grüße".encode("utf-16"), "t.txt", "Grüße"),
        ("# One\n\ntwo", "t.md", "# One\n\ntwo"),
    ],
)
def test_plain_kinds(tmp_path, content, name, text):
    found = read(tmp_path, content, name)

    assert found.text == text
    assert (found.parser, found.notes) == ("memos 2", [])


def test_without_the_parser_the_refusal_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(office, "PACKAGE", "xberg_that_is_not_there")
    with pytest.raises(FileRefused, match=r"pip install -r requirements-documents\.txt") as refused:
        office.read_office(made.pdf(1), "pdf", max_pages=1, max_chars=1, ocr_folder="", ocr_languages=[])
    assert refused.value.reason == "parser_missing"


def test_images_want_ocr(tmp_path):
    with pytest.raises(FileRefused, match="MEMOS_OCR_FOLDER") as refused:
        read(tmp_path, b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a.png")
    assert refused.value.reason == "ocr_missing"


def test_pictures_are_read_where_ocr_is_set_up(tmp_path):
    folder = str(Path(sys.prefix) / "share" / "tessdata")
    found = read(tmp_path, made.picture("The green boat leaks"), "boat.png", ocr_folder=folder)

    assert (found.kind, found.text) == ("image", "The green boat leaks")
    with pytest.raises(FileRefused) as refused:
        read(tmp_path, made.picture("Nobody"), "a.png", ocr_folder=str(tmp_path))
    assert refused.value.reason == "ocr_missing"


def test_a_large_directory_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "sent"
    path.write_bytes(large_directory())
    tracemalloc.start()
    try:
        with pytest.raises(FileRefused) as refused:
            archive.list_names(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused.value.reason, peak < 1024**2) == ("bomb", True)


def test_an_answer_of_a_parser_that_a_file_took_over_is_a_refusal(tmp_path):
    found = {"kind": "text", "text": "a", "markdown": False, "title": "", "pages": None, "tables": 0, "parser": "p"}
    (tmp_path / "found.json").write_text(json.dumps({**found, "peak": float("inf")}))
    with pytest.raises(FileRefused) as refused:
        process._read_answer(tmp_path, 0, seconds=0.1, limits=LIMITS)
    assert refused.value.reason == "crashed"


def test_a_stored_zip_is_no_bomb(tmp_path):
    parts = {"[Content_Types].xml": made.CONTENT_TYPES, "_rels/.rels": made.RELATIONS}
    body = made.raw_docx(TEXT.format("Plain words."))
    with zipfile.ZipFile(_open(body)) as archive:
        parts["word/document.xml"] = archive.read("word/document.xml").decode()
    assert "Plain words." in read(tmp_path, made.pack(parts, compression=zipfile.ZIP_STORED), "a.docx").text


def _open(content: bytes):
    import io

    return io.BytesIO(content)
