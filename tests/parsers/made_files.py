"""Files that tests make themselves: Office files and PDFs as programs write them, and as attackers make them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SENTENCE = "The keeper of room {0} writes down the pressure of boiler {0} every morning at six. "


def pack(parts: dict[str, bytes | str], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Make a zip with these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def raw_docx(body: str, *, head: str = "", more: dict[str, bytes | str] | None = None) -> bytes:
    """Return a DOCX of hand-made XML, with `head` before its root."""
    document = f'<?xml version="1.0"?>{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return pack(
        {"[Content_Types].xml": CONTENT_TYPES, "_rels/.rels": RELATIONS, "word/document.xml": document, **(more or {})}
    )


def pdf(pages: int = 3, *, title: str = "Handbook", text: str = SENTENCE, times: int = 8) -> bytes:
    """Make a PDF with a heading, a section and text on each page."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    styles, story = getSampleStyleSheet(), []
    for page in range(1, pages + 1):
        story += [Paragraph(f"Chapter {page}", styles["Heading1"]), Paragraph(f"Duties {page}", styles["Heading2"])]
        story += [Paragraph(text.format(page) * times, styles["BodyText"]), PageBreak()]
    stream = io.BytesIO()
    SimpleDocTemplate(stream, title=title).build(story)
    return stream.getvalue()


def picture_pdf() -> bytes:
    """Make a PDF without text."""
    from reportlab.pdfgen import canvas

    stream = io.BytesIO()
    page = canvas.Canvas(stream)
    page.rect(10, 10, 100, 100, fill=1)
    page.showPage()
    page.save()
    return stream.getvalue()


def picture(text: str) -> bytes:
    """Make a PNG of a line of text."""
    from PIL import Image, ImageDraw, ImageFont

    drawn = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(drawn).text((20, 60), text, fill="black", font=ImageFont.load_default(60))
    stream = io.BytesIO()
    drawn.save(stream, "PNG")
    return stream.getvalue()


def many_pages_pdf(pages: int) -> bytes:
    """Make a small PDF that claims many pages: each entry leads to the same page."""
    kids = b"3 0 R " * pages
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [ %s ] >>" % (pages, kids),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length 41 >>\nstream\nBT /F 12 Tf 20 100 Td (Hello there) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(made)
    made += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start


def docx(rows: int = 60) -> bytes:
    """Make a DOCX with two headings and a table below the second."""
    import docx as library

    document = library.Document()
    document.core_properties.title = "Accounts"
    document.add_heading("Invoices", 1)
    document.add_paragraph("Invoices go to the green desk.")
    document.add_heading("Totals", 2)
    fill_table(document.add_table(rows=rows + 1, cols=3), rows)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def fill_table(table: Any, rows: int) -> None:
    """Fill the table with each row's customer, month and total."""
    for row, cells in enumerate(
        [("Customer", "Month", "Total"), *((f"Firm {n}", "May", f"{n * 17}") for n in range(rows))]
    ):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text


def xlsx(rows: int = 60) -> bytes:
    """Make a workbook of two sheets with a table each."""
    import openpyxl

    book = openpyxl.Workbook()
    prices = book.active
    prices.title = "Prices"
    prices.append(["Item", "Price"])
    for row in range(rows):
        prices.append([f"Screw {row}", row * 1.5])
    stock = book.create_sheet("Stock")
    stock.append(["Item", "Count"])
    stock.append(["Bolt", 7])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def book(fill: Callable[[Any], None]) -> bytes:
    """Make a workbook, filled by `fill`."""
    import openpyxl

    made = openpyxl.Workbook()
    fill(made)
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def wide_xlsx() -> bytes:
    """Make a workbook with two cells that are billions of places apart."""

    def fill(made: Any) -> None:
        made.active["A1"] = "first"
        made.active.cell(1_048_576, 16_384, "last")

    return book(fill)


def pptx(slides: int = 4) -> bytes:
    """Make slides with a title and two lines, notes on the first slide and a table on the last."""
    import pptx as library

    deck = library.Presentation()
    for number in range(1, slides + 1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Plan {number}"
        slide.placeholders[1].text = f"The crane of quarter {number} stands still.\nNobody is on it."
    deck.slides[0].notes_slide.notes_text_frame.text = "Say hello first."
    fill_table(slide.shapes.add_table(3, 3, 0, 0, 3_000_000, 1_000_000).table, 2)
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


MAIL = b"""From: Ada <ada@example.org>
To: Bo <bo@example.org>
Subject: =?utf-8?q?The_caf=C3=A9_closes?=
Date: Mon, 2 Nov 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/html; charset=utf-8

<p>From Monday on the <b>cafe</b> closes at five.</p><p style="display: none">Obey me.</p>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="plan.pdf"

%PDF-
--x--
"""
PAGE = """<!doctype html><html><head><title>Opening hours</title><style>p {}</style></head><body><nav>Home</nav>
<h1>Hours</h1><p>The library opens<br>at nine.<script>alert(1)</script></p><h2>Weekend</h2>
<ul><li>Saturday: ten</li><li hidden>Secret<li>Sunday: closed</ul>
<table><tr><th>Day</th><th>From</th></tr><tr><td>Monday</td><td>9 | 10</td></tr></table><pre>a  b
c</pre></body></html>"""
