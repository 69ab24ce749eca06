"""Reads and writes the file of a cube in streams: a zip with one member of JSON lines for each part, and the manifest.

Nothing is unpacked to disk. The directory of a zip is checked as for imports (`imports.container`): sizes, ratios,
paths. A part is used only when all of it has the digest in the manifest.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import orjson

from memory import deadline, ledger
from memory.enums import CubeSignature
from memory.services.cube_files import manifest as manifests
from memory.services.cube_files.manifest import MEMBER, Manifest, PartSummary
from memory.services.imports.container import MAX_ITEM_BYTES, Part, list_parts
from memory.services.imports.source import UnreadableImport
from memory.text.json_values import encode
from memory.types import Scope

SUFFIX = ".memcube"
# The parts and the manifest; a file of many more is an attack on our time.
MAX_MEMBERS = 32
_LINES = ".jsonl"
_CHUNK_BYTES = 1024 * 1024
# The least memory of a line's value beyond its bytes there; each value is preceded by one of these signs.
_VALUE_BYTES, _SIGNS = 32, (b",", b"[", b"{")
_LEVEL = 6


class CubeWriter:
    """Writes a cube's file to `path`: each part once, in any order, then `finish`."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        self.parts: dict[str, PartSummary] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def write(self, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write a part, a line for each value as it comes."""
        digest, count, size = hashlib.sha256(), 0, 0
        with self._zip.open(name + _LINES, "w", force_zip64=True) as member:
            for value in lines:
                line = encode(value) + b"\n"
                digest.update(line)
                member.write(line)
                count += 1
                size += len(line)
        self.parts[name] = PartSummary(count, size, digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """Write the signed manifest."""
        self._zip.writestr(MEMBER, manifests.seal(manifest))


@dataclass(frozen=True, slots=True)
class CubeReader:
    """An opened cube's file; `signature`: whether this server or another known one wrote it."""

    manifest: Manifest
    signature: CubeSignature
    _parts: Mapping[str, Part]

    @property
    def is_trusted(self) -> bool:
        return self.signature in (CubeSignature.OWN, CubeSignature.TRUSTED)

    @property
    def is_of_this_server(self) -> bool:
        """Return whether it was written here. No other sender can forge that, whatever key it shares with this
        server."""
        return self.signature == CubeSignature.OWN and self.manifest.server == ledger.secret_mark()

    def is_of(self, scope: Scope) -> bool:
        """Return whether it was written here, from the namespace of the scope."""
        return self.is_of_this_server and self.manifest.namespace_id == scope.namespace_id

    def verify(self, report: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Read all of the file once. Raises UnreadableImport for a part that differs from the manifest."""
        done, total = 0, sum(part.bytes for part in self.manifest.parts.values())
        for name, summary in self.manifest.parts.items():
            digest, lines, size = hashlib.sha256(), 0, 0
            with self._parts[name].open() as stream:
                while data := stream.read(_CHUNK_BYTES):
                    deadline.check()
                    digest.update(data)
                    lines += data.count(b"\n")
                    size += len(data)
                    if size > summary.bytes:
                        break
            if PartSummary(lines, size, digest.hexdigest()) != summary:
                raise UnreadableImport(
                    f"{name}{_LINES} is not what the manifest says (its SHA-256, bytes or lines are others): the file "
                    "is damaged or was changed. Get it again from its sender."
                )
            done += size
            report(done, total)

    def lines(self, name: str, *, after: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the lines of a part after the first `after`, each with its number from 1. Raises UnreadableImport."""
        for number, line, _ in self._read(name, after=after):
            yield number, _parse(line, name, number)

    def batches(self, name: str, *, after: int, most: int) -> Iterator[list[tuple[int, dict[str, Any]]]]:
        """Yield the lines in batches of up to `most`, and of limited size in memory. Raises UnreadableImport."""
        batch: list[tuple[int, dict[str, Any]]] = []
        weight = 0
        for number, line, own in self._read(name, after=after):
            if batch and (len(batch) == most or weight + own > MAX_ITEM_BYTES):
                yield batch
                batch, weight = [], 0
            batch.append((number, _parse(line, name, number)))
            weight += own
        if batch:
            yield batch

    def _read(self, name: str, *, after: int) -> Iterator[tuple[int, bytes, int]]:
        """Yield the lines, each with its number and its approximate bytes in memory."""
        if name not in self.manifest.parts:
            return
        with self._parts[name].open() as stream:
            for number, line in enumerate(_read_lines(stream, name), start=1):
                if number > after:
                    weight = len(line) + _VALUE_BYTES * sum(map(line.count, _SIGNS))
                    if weight > MAX_ITEM_BYTES:
                        raise UnreadableImport(f"Line {number} of {name}{_LINES} holds more values than fit in memory.")
                    yield number, line, weight


def open_cube(path: Path) -> CubeReader:
    """Open the file, read its manifest and compare the names of its members with it; no part is read yet.

    Raises UnreadableImport for a file that is not a cube's, hostile, or of another schema.
    """
    members = list_parts(path, most=MAX_MEMBERS, kind="A cube's file")
    known = {member.name: member for member in members}
    if MEMBER not in known:
        raise UnreadableImport(
            f"The file has no {MEMBER}: it is no cube's file. Exports of other programs go to POST /v1/imports."
        )
    if len(known) < len(members):
        raise UnreadableImport("The zip has two files of the same name: no cube's file has. Nothing of it was read.")
    with known[MEMBER].open() as stream:
        data = stream.read(manifests.MAX_BYTES + 1)
    if len(data) > manifests.MAX_BYTES:
        raise UnreadableImport(f"{MEMBER} is larger than {manifests.MAX_BYTES // 1024**2} MB: no cube's is.")
    manifest, signature = manifests.open_sealed(data)
    wanted = {MEMBER, *(name + _LINES for name in manifest.parts)}
    if extra := sorted(set(known) - wanted):
        raise UnreadableImport(
            f"The zip holds {extra[0][:100]!r}, which the manifest does not name: it was added. Nothing was loaded."
        )
    if missing := sorted(wanted - set(known)):
        raise UnreadableImport(f"The zip lacks {missing[0]}, which the manifest names: get it again from its sender.")
    parts = {name: known[name + _LINES] for name in manifest.parts}
    for name, summary in manifest.parts.items():
        if parts[name].size != summary.bytes:
            raise UnreadableImport(f"{name}{_LINES} has {parts[name].size} bytes, not the {summary.bytes} it should.")
    return CubeReader(manifest, signature, parts)


def _read_lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    while line := stream.readline(MAX_ITEM_BYTES + 1):
        if len(line) > MAX_ITEM_BYTES:
            raise UnreadableImport(f"A line of {name}{_LINES} is larger than {MAX_ITEM_BYTES // 1024**2} MB.")
        yield line


def _parse(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UnreadableImport(f"{name}{_LINES}, line {number}, is not a JSON object.")
    return value
