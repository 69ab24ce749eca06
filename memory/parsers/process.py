"""Reads a file in a child process that is killed when it takes too long and leaves nothing behind."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.parsers.confine import hide_memory
from memory.parsers.read_file import ASKED, FOUND, GIVEN, clean
from memory.parsers.refusal import FileRefused

log = logging.getLogger("memos.parsers")

_ROOT = Path(__file__).resolve().parents[2]
# The option -I keeps the environment and the working directory from deciding the imports.
_START = "import sys; sys.path.insert(0, sys.argv[1]); from memory.parsers.read_file import main; main()"
_MEMORY = re.compile(r"MemoryError|memory allocation|[Oo]ut of memory|failed to map|Cannot allocate")
# Size of a character in JSON: up to six bytes.
_BYTES_A_CHAR = 6
# Limits for what the child reports, and the minimum size of its files: a parser unpacks its libraries to a folder.
_MAX_SAYS_CHARS, _MAX_PARSER_CHARS, _MAX_NOTES, _MOST = 500, 60, 20, 2**31 - 1
_LEAST_FILE_BYTES = 32 * 1024**2
_SAYS = {
    "memory": "Reading the file takes more memory than it may: send it in parts.",
    "cpu_time": "Reading the file takes more CPU time than it may: send it in parts.",
    "wall_time": "Reading the file takes longer than it may: send it in parts.",
    "crashed": "The parser crashed on this file: save it again with another program, or as a PDF.",
}


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """Limits for reading one file: bytes of memory, seconds of CPU and wall time, pages, characters of text.

    `ocr_folder` is the folder of Tesseract's languages; if it is "", images aren't read.
    """

    memory: int
    cpu_seconds: int
    seconds: float
    max_pages: int
    max_chars: int
    ocr_folder: str = ""
    ocr_languages: Sequence[str] = ("eng",)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The text of a file, in which form feeds end its `pages`.

    `parser`, with its version, read it in `seconds`, and used up to `peak` bytes of memory (None if unknown). `notes`
    are sentences on what was guessed or left out.
    """

    kind: str
    text: str
    markdown: bool
    title: str
    pages: int | None
    tables: int
    parser: str
    seconds: float
    peak: int | None
    notes: Sequence[str] = ()


def parse(path: Path, name: str, limits: ParserLimits, *, watch: Callable[[int], None] | None = None) -> ParsedFile:
    """Read the file at `path`, which its sender calls `name`. `watch` gets the child's process id.

    Raise `FileRefused` if it fails, whatever the file does to its reader.
    """
    with tempfile.TemporaryDirectory(prefix="memos-parser-") as folder:
        shutil.copyfile(path, Path(folder) / GIVEN)
        asked = {
            "name": name,
            "parent": os.getpid(),
            "memory": limits.memory,
            "cpu_seconds": limits.cpu_seconds,
            "file_bytes": max(_LEAST_FILE_BYTES, _BYTES_A_CHAR * limits.max_chars),
            "max_pages": limits.max_pages,
            "max_chars": limits.max_chars,
            "ocr_folder": limits.ocr_folder,
            "ocr_languages": list(limits.ocr_languages),
        }
        (Path(folder) / ASKED).write_text(json.dumps(asked))
        began = time.monotonic()
        with hide_memory():
            with (Path(folder) / "errors").open("wb") as errors:
                child = subprocess.Popen(  # noqa: S603 - this interpreter, with words of this file
                    [sys.executable, "-I", "-c", _START, str(_ROOT)],
                    cwd=folder,
                    env=_make_environment(folder),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )
            try:
                if watch is not None:
                    watch(child.pid)
                _wait(child, until=began + limits.seconds)
            finally:
                _end(child)
        return _read_answer(Path(folder), child.returncode, seconds=time.monotonic() - began, limits=limits)


def _make_environment(folder: str) -> dict[str, str]:
    """Return the child's whole environment: where it may write, and one thread for each kind of work."""
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "XDG_CACHE_HOME": folder,
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
        "TOKIO_WORKER_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _wait(child: subprocess.Popen[bytes], *, until: float) -> None:
    try:
        child.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        _end(child)
        raise FileRefused("wall_time", _SAYS["wall_time"]) from None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and what it may have started, and wait for it."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            child.kill()
        child.wait()


def _read_answer(folder: Path, status: int, *, seconds: float, limits: ParserLimits) -> ParsedFile:
    """Return the child's result, which is validated because a file may have taken over the child."""
    answer = folder / FOUND
    if status != 0 or not answer.is_file() or answer.is_symlink():
        reason = _tell_reason(status, (folder / "errors").read_bytes()[-4096:].decode("utf-8", "replace"))
        raise FileRefused(reason, _SAYS[reason])
    try:
        found = json.loads(answer.read_bytes())
        if (reason := found.get("refused")) is not None:
            if "error" in found:
                log.warning("a parser crashed", extra={"error": str(found["error"])[:100]})
            says = found.get("says") or _SAYS.get(str(reason), _SAYS["crashed"])
            raise FileRefused(str(reason), clean(str(says)[:_MAX_SAYS_CHARS]))
        return ParsedFile(
            kind=str(found["kind"]),
            text=clean(str(found["text"])[: limits.max_chars]),
            markdown=bool(found["markdown"]),
            title=clean(str(found["title"])),
            pages=None if found["pages"] is None else _count(found["pages"]),
            tables=_count(found["tables"]),
            parser=clean(str(found["parser"])[:_MAX_PARSER_CHARS]),
            seconds=round(seconds, 3),
            peak=None if found["peak"] is None else min(int(found["peak"]), sys.maxsize),
            notes=[clean(str(note)[:_MAX_SAYS_CHARS]) for note in list(found["notes"])[:_MAX_NOTES]],
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise FileRefused("crashed", _SAYS["crashed"]) from None


def _count(value: object) -> int:
    return max(0, min(int(str(value)), _MOST))


def _tell_reason(status: int, said: str) -> str:
    """Return why the child ended without an answer."""
    if status == -signal.SIGXCPU:
        return "cpu_time"
    # The system kills processes that take more memory than there is.
    if status == -signal.SIGKILL or re.search(
        r"MemoryError|memory allocation|[Oo]ut of memory|failed to map|Cannot allocate", said
    ):
        return "memory"
    return "crashed"
