"""Reads one file; `main` is the entry point of the child process, which confines itself before it opens the file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from memory.parsers import archive, detect, encoding, mail, plain_text, sheets, web_page
from memory.parsers.confine import ProcessLimits, confine
from memory.parsers.office import name_version, read_office
from memory.parsers.refusal import FileRefused

# Version of the reader for plain kinds; raise it when they are read differently, to show which files to read again.
OWN_PARSER = "memos 2"
# The child's input: the request and the file; and its output.
ASKED, GIVEN, FOUND = "asked.json", "given", "found.json"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_JSON_LINES = (".jsonl", ".ndjson")
_MARKDOWN_KINDS = (detect.MARKDOWN, detect.HTML, detect.EML, detect.CSV)


def main() -> None:
    """Read the file in the working directory, and write its content or the reason for refusing it."""
    asked = json.loads(Path(ASKED).read_text())
    limits = ProcessLimits(asked["memory"], asked["cpu_seconds"], asked["file_bytes"])
    confine(limits, parent=asked["parent"], readable=[asked["ocr_folder"]] if asked["ocr_folder"] else [])
    try:
        found = read_file(Path(GIVEN), asked)
        if len(found["text"]) > asked["max_chars"]:
            most = asked["max_chars"]
            raise FileRefused("too_large", f"The file's text has more than {most} characters: send it in parts.")
        if not found["text"].strip():
            raise FileRefused("no_text", _say_no_text(found["kind"]))
    except FileRefused as refusal:
        found = {"refused": refusal.reason, "says": refusal.says}
    except RecursionError:
        found = {"refused": "too_large", "says": "The file is nested too deep to be read."}
    except MemoryError:
        found = {"refused": "memory", "says": ""}
    except Exception as error:
        found = {"refused": "crashed", "says": "", "error": type(error).__name__}
    try:
        Path(FOUND).write_text(json.dumps({**found, "peak": _read_peak()}))
    except OSError:
        os.truncate(FOUND, 0)
        Path(FOUND).write_text(json.dumps({"refused": "too_large", "says": "The file's text is too long to be kept."}))
    # A parser's threads may still run, and would crash in an interpreter that shuts down.
    os._exit(0)


def read_file(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Return `{kind, text, markdown, title, pages, tables, parser, notes}` of the file. Raise `FileRefused`."""
    kind = detect.detect(path, asked["name"])
    data = path.read_bytes()
    title, pages, tables, parser = "", None, 0, OWN_PARSER
    notes: list[str] = []
    if kind in (detect.DOCX, detect.PPTX, detect.XLSX):
        archive.refuse_declarations(path)
    if kind == detect.XLSX:
        text, title, tables, notes = sheets.read_sheets(data)
        parser = sheets.name_version()
    elif kind in detect.NEEDS_PARSER:
        read = read_office(
            data,
            kind,
            max_pages=asked["max_pages"],
            max_chars=asked["max_chars"],
            ocr_folder=asked["ocr_folder"],
            ocr_languages=asked["ocr_languages"],
        )
        text, title, pages, tables, parser = read.text, read.title, read.pages, read.tables, name_version()
    elif kind == detect.EML:
        text, title, notes = mail.read_mail(data)
    else:
        decoded = encoding.decode(data)
        text, notes = decoded.text, decoded.notes
        if kind == detect.HTML:
            text, title, tables = web_page.read_html(text)
        elif kind == detect.CSV:
            text, tables = plain_text.read_csv(text)
        elif kind == detect.JSON:
            text = plain_text.read_json(text, by_lines=asked["name"].lower().endswith(_JSON_LINES))
    return {
        "kind": kind,
        "text": clean(text),
        "markdown": kind in _MARKDOWN_KINDS or kind in detect.NEEDS_PARSER,
        "title": clean(title),
        "pages": pages,
        "tables": tables,
        "parser": parser,
        "notes": [clean(note) for note in notes],
    }


def clean(text: str) -> str:
    """Remove what no database stores: control characters and lone surrogates."""
    return _CONTROLS.sub("", text)


def _say_no_text(kind: str) -> str:
    if kind == detect.PDF:
        return "The PDF holds no text: its pages are pictures. Set OCR up (MEMOS_OCR_FOLDER), or run it over the file."
    return "The file holds no text."


def _read_peak() -> int | None:
    """Return the peak memory of this process in bytes, None if unknown."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else None
