from __future__ import annotations

import re
import shutil
import unicodedata
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import no_style
from django.utils import timezone

from memory.errors import MemosError
from memory.management import arguments
from memory.retrieval.filters import Condition, MemoryField, Operator
from memory.retrieval.hits import Hit
from memory.services.recall.search import Ask, find
from memory.services.tenancy.namespaces import scope_of_existing
from memory.services.tenancy.zones import zone_of

MAX_QUESTION_CHARS = 2_000
MAX_COLUMNS = 140
MAX_SPEAKER_COLUMNS = 16
MAX_LINES = 8
# A space, a word, or a wide (Chinese) character, with the wide punctuation that may not begin a line.
_WIDE = "⺀-鿿豈-\ufaff＀-｠"
_PIECE = re.compile(rf"\s|(?:[{_WIDE}]|[^\s{_WIDE}]+)[、。〉》」』】，！？；：）]*")
_ARM_WORDS = {"dense": "meaning", "lexical": "words"}


class Command(BaseCommand):
    help = "Shows what a question finds in a namespace, and why. Nothing is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace")
        parser.add_argument("question")
        parser.add_argument("--top-k", type=arguments.whole_number(1, 50), default=5, help="default: 5")
        parser.add_argument("--session", type=arguments.name, help="show only what was said in this session")

    def handle(self, *, namespace: str, question: str, top_k: int, session: str | None, **_: Any) -> None:
        if not question.strip() or len(question) > MAX_QUESTION_CHARS:
            raise CommandError(f"A question has 1 to {MAX_QUESTION_CHARS} characters.")
        try:
            scope = scope_of_existing(namespace, actor="command:ask")
            where = None if session is None else Condition(MemoryField.SESSION, Operator.EQ, session)
            now = timezone.now().astimezone(zone_of(scope.namespace_id))
            asked = Ask(question, top_k, now, where=where, dry_run=True)
            answer = find(scope, asked)
        except MemosError as error:
            raise CommandError(error.message) from error
        style = self.style if self.stdout.isatty() else no_style()
        width = min(shutil.get_terminal_size((100, 24)).columns, MAX_COLUMNS)
        found, hits = answer.retrieval, answer.hits
        if not hits:
            self.stdout.write("Nothing was found.")
        elif not answer.answerable:
            self.stdout.write("Nothing in memory answers this. What is nearest:")
        speakers = [_cut(_plain(hit.speaker or hit.role), MAX_SPEAKER_COLUMNS) for hit in hits]
        origins = [_origin(hit) for hit in hits]
        for hit, speaker, origin in zip(hits, speakers, origins, strict=True):
            head = f"{hit.rank:>2}  {hit.occurred_at:%Y-%m-%d}  {_pad(speaker, max(map(_columns, speakers)))}  "
            self.stdout.write(
                style.MIGRATE_HEADING(head)
                + style.SUCCESS(f"{hit.score:.2f}")
                + f"  {_pad(origin, max(map(len, origins)))}  {_plain(hit.session)}"
            )
            lines = list(_wrap(_plain(hit.text), width - 4))
            for line in lines[:MAX_LINES]:
                self.stdout.write(f"    {line}")
            if len(lines) > MAX_LINES:
                self.stdout.write("    …")
        whole, reading = sum(found.milliseconds.values()), found.milliseconds["question"] + found.milliseconds["vector"]
        self.stdout.write(
            f"{found.considered} memories considered in {whole:.0f} ms "
            f"({reading:.0f} to load the model and read the question, {whole - reading:.0f} to search)"
        )


def _origin(hit: Hit) -> str:
    """Describe where a hit came from: each arm's score and rank, and the signals that helped.

    For example: `meaning .62 (#3) + words 11.4 (#1) + people`.
    """
    parts = []
    for name, part in hit.candidate.parts.items():
        if name in _ARM_WORDS:
            raw = f"{part.raw:.2f}".replace("0.", ".", 1) if name == "dense" else f"{part.raw:.1f}"
            parts.append(f"{_ARM_WORDS[name]} {raw}" + (f" (#{part.rank})" if part.rank else ""))
        elif part.weighted > 0:
            parts.append(name)
    return " + ".join(parts)


def _plain(text: str) -> str:
    """Replace characters that could control the terminal, because memories come from others."""
    return "".join(character if character == "\n" or character.isprintable() else " " for character in text)


def _columns(text: str) -> int:
    """Return how many terminal columns `text` fills. Wide characters fill two."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _pad(text: str, columns: int) -> str:
    return text + " " * (columns - _columns(text))


def _cut(text: str, columns: int) -> str:
    if _columns(text) <= columns:
        return text
    while _columns(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def _wrap(text: str, width: int) -> Iterator[str]:
    """Break `text` into lines of at most `width` columns, between words where possible."""
    for paragraph in text.splitlines():
        line, used = "", 0
        for piece in _PIECE.findall(paragraph):
            size = _columns(piece)
            if used and used + size > width:
                yield line.rstrip()
                line, used = "", 0
                if piece.isspace():
                    continue
            while size > width:
                fitting = _find_cut(piece, width)
                yield piece[:fitting]
                piece = piece[fitting:]  # noqa: PLW2901 - what is left of a word longer than a line
                size = _columns(piece)
            line, used = line + piece, used + size
        if line.strip():
            yield line.rstrip()


def _find_cut(text: str, width: int) -> int:
    """Return how many characters of `text` fit into `width` columns, but at least one."""
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return max(1, position)
    return len(text)
