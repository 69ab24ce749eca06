"""Reads PDF, DOCX, PPTX and images with the optional parser xberg, from bytes only and never from an address."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib import metadata, util
from typing import Any

from memory.parsers.archive import MAX_MEMBERS, MAX_TOTAL_BYTES
from memory.parsers.detect import IMAGE, PDF, PPTX
from memory.parsers.refusal import FileRefused

PACKAGE = "xberg"
MISSING = (
    "PDF, DOCX, PPTX, XLSX and images need parsers that are not installed: run `pip install -r "
    "requirements-documents.txt` where the web server and the worker run, and start them again."
)
NO_OCR = (
    "Text in images is read by OCR, which is not set up: install Tesseract's language files, and set MEMOS_OCR_FOLDER "
    "to their folder (tessdata)."
)
# A page break on a separate line, by which the page of a chunk is counted.
PAGE_BREAK = "\n\n\f\n\n"
_MAX_TABLE_CELLS = 200_000
_MAX_XML_DEPTH = 256


@dataclass(frozen=True, slots=True)
class OfficeText:
    """The text of a document; `pages` is None for kinds without fixed pages, like Word, where the printer decides."""

    text: str
    title: str
    pages: int | None
    tables: int


def is_installed() -> bool:
    """Tell whether the parser is installed."""
    return util.find_spec(PACKAGE) is not None


def name_version() -> str:
    """Return the parser's name and version, like `xberg 1.3.9`."""
    return f"{PACKAGE} {metadata.version(PACKAGE)}"


def read_office(
    data: bytes, kind: str, *, max_pages: int, max_chars: int, ocr_folder: str, ocr_languages: list[str]
) -> OfficeText:
    """Return the file's text as Markdown, with page breaks between pages or slides. Raise `FileRefused` if it fails."""
    if not is_installed():
        raise FileRefused("parser_missing", MISSING)
    if kind == IMAGE and not ocr_folder:
        raise FileRefused("ocr_missing", NO_OCR)
    import xberg  # noqa: PLC0415 - optional, and 100 MB

    ocr = xberg.OcrConfig(backend="tesseract", language=ocr_languages, tessdata_path=ocr_folder) if ocr_folder else None
    config = xberg.ExtractionConfig(
        output_format="markdown",
        escape_markdown=False,
        use_cache=False,
        disable_ocr=ocr is None,
        ocr=ocr,
        pages=xberg.PageConfig(extract_pages=True),
        max_archive_depth=0,
        max_embedded_file_bytes=0,
        extraction_timeout_secs=None,
        security_limits=xberg.SecurityLimits(
            max_archive_size=MAX_TOTAL_BYTES,
            max_files_in_archive=MAX_MEMBERS,
            max_content_size=max(8 * max_chars, 1024 * 1024),
            max_xml_depth=_MAX_XML_DEPTH,
            max_table_cells=_MAX_TABLE_CELLS,
            max_pages=max_pages,
        ),
    )
    name = f"file.{'png' if kind == IMAGE else kind}"
    source = xberg.ExtractInput(kind=xberg.ExtractInputKind.BYTES, bytes=data, filename=name)
    try:
        found = asyncio.run(xberg.extract(source, config))
    except MemoryError:
        raise
    except Exception as error:  # It raises RuntimeError for every error of its native part.
        raise _explain(str(error)) from None
    if found.errors or not found.results:
        said = "; ".join(str(getattr(one, "message", one)) for one in found.errors)
        raise _explain(said)
    return _join_pages(found.results[0], kind, max_pages=max_pages)


def _join_pages(document: Any, kind: str, *, max_pages: int) -> OfficeText:
    title = " ".join((document.metadata.title or "").split())
    tables = len(document.tables)
    pages = list(document.pages or ())
    if len(pages) > max_pages:
        raise _too_many_pages()
    if kind not in (PDF, PPTX) or not pages:
        return OfficeText(_plain(document.content), title, None, tables)
    told = [_tell_page(page) for page in pages]
    return OfficeText(PAGE_BREAK.join(told), title, len(pages), tables)


def _tell_page(page: Any) -> str:
    notes = f"\n\nNotes: {_plain(page.speaker_notes)}" if page.speaker_notes else ""
    return _plain(page.content) + notes


def _plain(text: str) -> str:
    return text.replace("\f", "\n").strip()


def _explain(said: str) -> FileRefused:
    """Return a reason for the parser's error, whose own words may quote the file and are not passed on."""
    lower = said.lower()
    if "password" in lower or "encrypt" in lower:
        return FileRefused("encrypted", "The file has a password: save it without one.")
    if "page" in lower and ("limit" in lower or "max" in lower or "exceed" in lower):
        return _too_many_pages()
    if any(word in lower for word in ("bomb", "compression ratio", "security violation", "exceeds")):
        return FileRefused("bomb", "The file would grow beyond every limit when it is read: it is refused.")
    if "tesseract" in lower or "ocr error" in lower or "tessdata" in lower:
        return FileRefused("ocr_missing", NO_OCR)
    return FileRefused("damaged", "The file is cut off or damaged: open it in its program, and save it again.")


def _too_many_pages() -> FileRefused:
    return FileRefused("too_large", "The file has more pages than a file may have: send it in parts.")
