"""Parsers read bytes and never a URL: with or without a sandbox, they fetch nothing that a file names."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memory.parsers import process
from memory.parsers.process import ParserLimits, parse
from memory.parsers.refusal import FileRefused
from tests.parsers import made_files as made

LIMITS = ParserLimits(memory=1024**3, cpu_seconds=20, seconds=60, max_pages=100, max_chars=200_000)
SECRET = "Canary 7Q4-1X"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    "{}</Relationships>"
)
DRAWING = (
    '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
    '<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData><pic:pic '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill><a:blip '
    f'xmlns:r="{REL}" r:link="i1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    "</w:p>"
)
SAID = "<w:p><w:r><w:t>The boat leaks.</w:t></w:r></w:p>"


class Listener:
    """A server on loopback that accepts connections and counts them."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.seen = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self.seen += 1
                client.close()

    def stop(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    # Check first that the listener would have seen a request.
    before = listening.seen
    with socket.create_connection(("127.0.0.1", int(listening.url.rpartition(":")[2])), 10) as client:
        client.recv(1)
    assert listening.seen == before + 1
    listening.stop()


def html(url: str, file: str) -> bytes:
    return f"""<!doctype html><html><head><base href="{url}/"><title>Boats</title>
<link rel="stylesheet" href="{url}/a.css"><script src="{url}/a.js"></script>
<meta http-equiv="refresh" content="0;url={url}/r">
<style>@import url({url}/b.css); p {{ background: url({url}/c.png) }}</style></head><body background="{url}/d.png">
<p>The boat leaks.</p><img src="{url}/e.png" srcset="{url}/f.png 2x"><iframe src="{url}/g"></iframe>
<iframe src="{file}"></iframe><object data="{url}/h"></object>
<embed src="{file}"><video poster="{url}/i" src="{url}/j"></video>
<a href="{url}/k" ping="{url}/l">more</a><form action="{url}/m"></form></body></html>""".encode()


def markdown(url: str, file: str) -> bytes:
    return (
        f"# Boats\n\nThe boat leaks. ![a]({url}/a.png) [b]({file}) <{url}/c> <img src='{url}/d'>\n\n[e]: {url}/e\n\n"
        f"{{% include {url}/f %}}\n\n.. include:: {file}\n"
    ).encode()


def mail(url: str, file: str) -> bytes:
    return (
        "From: Ada <ada@example.org>\nTo: Bo <bo@example.org>\nSubject: Boats\nMIME-Version: 1.0\n"
        f'Disposition-Notification-To: ada@example.org\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n'
        f'Content-Type: text/html; charset=utf-8\n\n<p>The boat leaks.</p><img src="{url}/a.png">'
        f'<iframe src="{file}">\n'
        f'--x\nContent-Type: message/external-body; access-type=URL; URL="{url}/b"\n\nContent-Type: text/plain\n\n'
        f'--x\nContent-Type: message/external-body; access-type=local-file; name="{file.removeprefix("file://")}"\n\n'
        f"Content-Type: text/plain\n\n--x--\n"
    ).encode()


def csv(url: str, file: str) -> bytes:
    return (
        f"boat,state\ngreen,leaks\nThe boat leaks.,=WEBSERVICE(\"{url}/a\")\nx,=IMPORTDATA('{url}/b')\n"
        f"y,=HYPERLINK(\"{file}\")\nz,=cmd|' /C curl {url}'!A1\n"
    ).encode()


def json_text(url: str, file: str) -> bytes:
    return json.dumps({"boat": "The boat leaks.", "$ref": f"{url}/a.json", "$schema": f"{url}/b", "x": file}).encode()


def docx_with(parts: dict[str, bytes | str], *, head: str = "", body: str = SAID) -> bytes:
    return made.raw_docx(body, head=head, more=parts)


def docx_entity(url: str, file: str) -> bytes:
    return docx_with({}, head=f'<!DOCTYPE d SYSTEM "{url}/a.dtd" [<!ENTITY x SYSTEM "{file}">]>')


def docx_parameter_entity(url: str, file: str) -> bytes:
    return docx_with({}, head=f'<!DOCTYPE d [<!ENTITY % p SYSTEM "{url}/p.dtd">%p;<!ENTITY f SYSTEM "{file}">]>')


def docx_relations(url: str, file: str) -> bytes:
    named = [
        ("i1", "image", f"{url}/a.png"), ("t1", "attachedTemplate", f"{url}/b.dotm"), ("o1", "oleObject", f"{url}/c"),
        ("s1", "subDocument", f"{url}/d.docx"), ("h1", "hyperlink", f"{url}/e"), ("f1", "frame", file),
        ("f2", "image", file), ("a1", "aFChunk", f"{url}/g.html"),
    ]  # fmt: skip
    relations = "".join(
        f'<Relationship Id="{name}" Type="{REL}/{kind}" Target="{target}" TargetMode="External"/>'
        for name, kind, target in named
    )
    body = (
        SAID
        + DRAWING
        + f'<w:subDoc xmlns:r="{REL}" r:id="s1"/><w:altChunk xmlns:r="{REL}" r:id="a1"/>'
        + f"<w:p><w:r><w:fldSimple w:instr='INCLUDETEXT \"{url}/h\"'/></w:r></w:p>"
        + f"<w:p><w:fldSimple w:instr='INCLUDEPICTURE \"{file}\"'/></w:p>"
        + '<w:p><w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" Type="Link" '
        f'ProgID="Word.Document" xmlns:r="{REL}" r:id="o1" UpdateMode="Always"/></w:object></w:r></w:p>'
    )
    template = f'<w:attachedTemplate xmlns:r="{REL}" r:id="t1"/>'
    settings = f'<?xml version="1.0"?><w:settings xmlns:w="{made.WORD}">{template}</w:settings>'
    return docx_with(
        {
            "word/_rels/document.xml.rels": RELS.format(relations),
            "word/_rels/settings.xml.rels": RELS.format(relations),
            "word/settings.xml": settings,
        },
        body=body,
    )


def xlsx_links(url: str, file: str) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["The boat leaks.", f'=WEBSERVICE("{url}/a")', f"='{url}/[b.xlsx]S'!A1", f"='{file}'#$S.A1"])
    sheet["A2"].hyperlink = f"{url}/c"
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def pptx_links(url: str, file: str) -> bytes:
    import pptx as library

    deck = library.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "The boat leaks."
    named = (("image", f"{url}/a.png"), ("video", f"{url}/b.mp4"), ("oleObject", f"{url}/c"), ("image", file))
    for kind, target in named:
        slide.part.relate_to(target, f"{REL}/{kind}", is_external=True)
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def pdf_actions(url: str, file: str) -> bytes:
    """Make a PDF that opens addresses and files, and refers to a picture and a text elsewhere."""
    path = file.removeprefix("file://")
    text = b"BT /F 12 Tf 20 100 Td (The boat leaks.) Tj ET"
    spec = f"<< /FS /URL /F ({url}/c.txt) >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /URI /URI ({url}/a) >> "
        f"/AA << /WC << /S /Launch /F ({path}) >> >> >>",
        "<< /Type /Pages /Count 1 /Kids [ 3 0 R ] >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents [ 4 0 R 6 0 R ] /Annots [ 7 0 R 8 0 R ] "
        "/Resources << /Font << /F 5 0 R >> /XObject << /X 9 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text.decode()}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length 0 /F {spec} >>\nstream\n\nendstream",
        f"<< /Type /Annot /Subtype /Link /Rect [0 0 200 200] /A << /S /URI /URI ({url}/d) >> >>",
        f"<< /Type /Annot /Subtype /Link /Rect [0 0 200 200] /A << /S /GoToR /F ({path}) /D [0 /Fit] >> >>",
        f"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /Length 0 /F ({path}) >>\nstream\n\nendstream",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n".encode()
    start = len(content)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    return content + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


MADE: dict[str, tuple[str, Callable[[str, str], bytes]]] = {
    "html": ("a.html", html),
    "markdown": ("a.md", markdown),
    "mail": ("a.eml", mail),
    "csv": ("a.csv", csv),
    "json": ("a.json", json_text),
    "docx with an external entity": ("a.docx", docx_entity),
    "docx with an external parameter entity": ("a.docx", docx_parameter_entity),
    "docx with pictures, templates, parts and OLE objects elsewhere": ("a.docx", docx_relations),
    "xlsx with links": ("a.xlsx", xlsx_links),
    "pptx with links": ("a.pptx", pptx_links),
    "pdf with actions": ("a.pdf", pdf_actions),
}
# The parser refuses these files and reads the others.
REFUSED = {"docx with an external entity", "docx with an external parameter entity"}


def read_confined(path: Path, name: str, folder: Path) -> str:
    return parse(path, name, LIMITS).text


def read_without_a_sandbox(path: Path, name: str, folder: Path) -> str:
    """Parse a file like the child process, but with access to the network and the disk."""
    asked = {"name": name, "max_pages": 100, "max_chars": 200_000, "ocr_folder": "", "ocr_languages": ["eng"]}
    program = (
        "import json, os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from memory.parsers.read_file import read_file\n"
        "from memory.parsers.refusal import FileRefused\n"
        "try: found = read_file(Path(sys.argv[2]), json.loads(sys.argv[3]))['text']\n"
        "except FileRefused as refusal: found = refusal.says\n"
        "print(json.dumps(found)); sys.stdout.flush(); os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(process._ROOT), str(path), json.dumps(asked)],
        cwd=folder, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return str(json.loads(done.stdout))


@pytest.mark.parametrize("read", [read_confined, read_without_a_sandbox])
@pytest.mark.parametrize("kind", MADE)
def test_nothing_that_a_file_names_is_fetched(tmp_path, listener, kind, read):
    (secret := tmp_path / "secret.txt").write_text(SECRET)
    name, make = MADE[kind]
    content = make(listener.url, secret.as_uri())
    assert listener.url.encode() in content or name.endswith(("docx", "xlsx", "pptx", "pdf"))
    (path := tmp_path / "sent").write_bytes(content)
    (folder := tmp_path / "work").mkdir()

    try:
        text = read(path, name, folder)
    except FileRefused as refusal:
        text = refusal.says
    assert listener.seen == 0
    assert SECRET not in text
    assert ("The boat leaks." in text) == (kind not in REFUSED), text
