"""Detects the kind of a file by its content; its name decides only between kinds of text."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from memory.parsers.archive import list_names
from memory.parsers.encoding import MARKS, find_utf_16
from memory.parsers.refusal import FileRefused

PDF, DOCX, PPTX, XLSX, IMAGE = "pdf", "docx", "pptx", "xlsx", "image"
HTML, MARKDOWN, EML, CSV, JSON, TEXT = "html", "markdown", "eml", "csv", "json", "text"
# These need optional parsers.
NEEDS_PARSER = (PDF, DOCX, PPTX, XLSX, IMAGE)
ALLOWED = "PDF, DOCX, PPTX, XLSX, HTML, Markdown, EML, CSV, JSON and text"

_EXTENSIONS = {
    ".pdf": PDF, ".docx": DOCX, ".pptx": PPTX, ".xlsx": XLSX,
    ".png": IMAGE, ".jpg": IMAGE, ".jpeg": IMAGE, ".tif": IMAGE, ".tiff": IMAGE, ".webp": IMAGE,
    ".html": HTML, ".htm": HTML, ".xhtml": HTML, ".md": MARKDOWN, ".markdown": MARKDOWN, ".eml": EML,
    ".csv": CSV, ".tsv": CSV, ".json": JSON, ".jsonl": JSON, ".ndjson": JSON, ".txt": TEXT, ".text": TEXT,
}  # fmt: skip
_MAIN_PARTS = {"word/document.xml": DOCX, "ppt/presentation.xml": PPTX, "xl/workbook.xml": XLSX}
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "is of an old Office, or has a password: save it as DOCX, PPTX or XLSX without one",
    b"{\\rtf": "is RTF: save it as DOCX or PDF",
    b"\x1f\x8b": "is compressed by gzip: unpack it first",
    b"BZh": "is compressed by bzip2: unpack it first",
    b"\xfd7zXZ": "is compressed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: unpack it first",
    b"7z\xbc\xaf": "is a 7z archive: unpack it, and send its files one by one",
    b"Rar!": "is a RAR archive: unpack it, and send its files one by one",
    b"SQLite format 3": "is a database: export what you need as CSV",
    b"%!PS": "is PostScript: make it a PDF",
}
HEAD_BYTES = 4096
# No text in any code page contains these bytes.
_BINARY = re.compile(rb"[\x00-\x06\x0e-\x1a]")
_MARKUP = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_HEADERS = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]{0,60}:[^\n]*\n(?:[ \t][^\n]*\n)*){2,}")
_MAIL = re.compile(r"^(?:from|received|message-id|mime-version|return-path):", re.IGNORECASE | re.MULTILINE)


def detect(path: Path, name: str) -> str:
    """Return the kind of the file at `path`, which its sender calls `name`. Raise `FileRefused` if it isn't allowed."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head.strip():
        raise FileRefused("empty", "The file is empty.")
    claimed = _EXTENSIONS.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())
    found = _detect_binary(path, head)
    if found is None:
        found = _detect_text(head, claimed)
    elif claimed is not None and claimed != found:
        _refuse_label(name, found)
    if found not in NEEDS_PARSER and claimed in NEEDS_PARSER:
        _refuse_label(name, found)
    return found


def _detect_binary(path: Path, head: bytes) -> str | None:
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"%PDF-"):
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        names = set(list_names(path))
        kinds = {kind for part, kind in _MAIN_PARTS.items() if part in names}
        if len(kinds) != 1 or "[Content_Types].xml" not in names:
            raise FileRefused(
                "unsupported", "The file is a zip, and no DOCX, PPTX or XLSX: unpack it, and send its files one by one."
            )
        return kinds.pop()
    if head.startswith(_IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return IMAGE
    for mark, says in _OTHERS.items():
        if head.startswith(mark):
            raise FileRefused("unsupported", f"The file {says}.")
    return None


def _detect_text(head: bytes, claimed: str | None) -> str:
    marked = next((name for mark, name in MARKS if head.startswith(mark)), find_utf_16(head))
    if marked is None and _BINARY.search(head):
        raise FileRefused("unsupported", f"The file has none of the supported types: {ALLOWED}.")
    # The start of a page or a message is ASCII, so its code page doesn't matter.
    text = head.decode(marked or "latin-1", "ignore")
    if claimed in (HTML, MARKDOWN, CSV, JSON, TEXT):
        return claimed
    if claimed == EML or (_HEADERS.match(text) and _MAIL.search(text)):
        if not _HEADERS.match(text):
            raise FileRefused("mislabelled", "The file's name ends in .eml, but it does not begin with mail headers.")
        return EML
    if _MARKUP.match(text):
        return HTML
    return TEXT


def _refuse_label(name: str, found: str) -> None:
    ending = PurePosixPath(name).suffix.lower()
    is_what = "text" if found not in NEEDS_PARSER else "an image" if found == IMAGE else found.upper()
    raise FileRefused(
        "mislabelled", f"The file's name ends in {ending}, but its content is {is_what}: give it its own name."
    )
