#!/usr/bin/env python
"""Measures the cost of reading files: seconds, CPU seconds and memory of the reading process, also for zip bombs.

    python bench/documents.py

It needs requirements-documents.txt and, to make the files, requirements-dev.txt. Each file is read three times; times
are medians, memory is the maximum. Prints one line of JSON for each file. Linux only, because memory and time of the
process are read from /proc while it runs.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.parsers.process import ParserLimits, parse
from memory.parsers.refusal import FileRefused
from tests.parsers import made_files as made

LIMITS = ParserLimits(memory=1024**3, cpu_seconds=30, seconds=60, max_pages=2_000, max_chars=1_000_000)
TIMES = 3
_TICKS = os.sysconf("SC_CLK_TCK")


class Watched:
    """Samples a process every few milliseconds while it runs."""

    def __init__(self) -> None:
        self.peak = 0
        self.cpu = 0.0

    def look(self, pid: int) -> None:
        threading.Thread(target=self._look, args=(Path(f"/proc/{pid}"),), daemon=True).start()

    def _look(self, process: Path) -> None:
        while True:
            try:
                status, stat = (process / "status").read_text(), (process / "stat").read_text()
            except OSError:
                return
            if "VmHWM:" in status:
                self.peak = max(self.peak, int(status.split("VmHWM:")[1].split()[0]) * 1024)
            fields = stat.rpartition(")")[2].split()
            self.cpu = (int(fields[11]) + int(fields[12])) / _TICKS
            time.sleep(0.005)


def measure(name: str, content: bytes, folder: Path) -> dict[str, object]:
    """Reads a file, and returns the cost and the outcome."""
    path = folder / "sent"
    path.write_bytes(content)
    seconds, cpu, peak, ended = [], [], 0, ""
    for _ in range(TIMES):
        watched, began = Watched(), time.perf_counter()
        try:
            found = parse(path, name, LIMITS, watch=watched.look)
            ended = f"{len(found.text)} characters, {found.pages or 0} pages, {found.tables} tables"
        except FileRefused as refusal:
            ended = f"refused: {refusal.reason}"
        seconds.append(time.perf_counter() - began)
        cpu.append(watched.cpu)
        peak = max(peak, watched.peak)
    return {
        "file": name,
        "bytes": len(content),
        "seconds": round(statistics.median(seconds), 2),
        "cpu_seconds": round(statistics.median(cpu), 2),
        "peak_mb": round(peak / 1024**2),
        "ended": ended,
    }


def main() -> None:
    text = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    laughs = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    lying = made.raw_docx(text.format("x"), more={"word/header1.xml": b"0" * 600_000_000})
    files = {
        "30 pages.pdf": made.pdf(30, times=40),
        "300 pages.pdf": made.pdf(300, times=30),
        "table.docx": made.docx(500),
        "tables.xlsx": made.xlsx(5_000),
        "slides.pptx": made.pptx(40),
        "page.html": made.PAGE.encode() * 500,
        "mail.eml": made.MAIL,
        "large.csv": b"a,b,c\n" + b"1,two,3.5\n" * 40_000,
        "600 MB of zeros.docx": lying,
        "the same, lying about its size.docx": lying.replace(
            (600_000_000).to_bytes(4, "little"), (60_000).to_bytes(4, "little")
        ),
        "entities.docx": made.raw_docx(text.format("&b;"), head=laughs),
        "nested 200,000 deep.docx": made.raw_docx("<w:p>" * 200_000),
        "100 MB of text.docx": made.raw_docx(text.format("word " * 5_000) * 4_000),
        "50,000 pages.pdf": made.many_pages_pdf(50_000),
        "nested 100,000 deep.json": b"[" * 100_000 + b"]" * 100_000,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            print(json.dumps(measure(name, content, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
