"""Reads and writes the file of a backup: a stream of chunks, each of which proves its integrity and its position.

`MAGIC`, the header (4 bytes of length, JSON), then chunks: a byte (1: the last one), 4 bytes of length, the body. With
a key, a body is AES-256-GCM (NIST SP 800-38D) of the chunk, as in STREAM (Hoang, Reyhanitabar, Rogaway and Vizár,
"Online authenticated-encryption and its nonce-reuse misuse-resistance", 2015): the nonce is the chunk's number and
whether it is the last, and every chunk authenticates the header. The key is derived by scrypt (RFC 7914) from the
operator's key, with a random salt for each file. Without a key, a body is the chunk and a BLAKE2b digest of it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from memory.errors import BackupDamaged, BackupError

MAGIC = b"memos-backup 1\n"
CHUNK_BYTES = 1 << 20
MIN_KEY_CHARS = 16
MAX_HEADER_BYTES = 1 << 16
MAX_MANIFEST_BYTES = 1 << 24
_AES, _PLAIN = "aes-256-gcm", "none"
_DIGEST_BYTES = 16
_OVERHEAD = 16
_LENGTH = struct.Struct(">I")
_CHUNK = struct.Struct(">BI")


class _Sealer(Protocol):
    def seal(self, chunk: bytes, place: bytes) -> bytes: ...

    def open(self, body: bytes, place: bytes) -> bytes | None:
        """Return the chunk; None if it is not the one that was sealed at this position."""


class _Encrypted:
    def __init__(self, key: bytes, header: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 7 MB, for who has a key

        self._cipher = AESGCM(key)
        self._header = header

    def seal(self, chunk: bytes, place: bytes) -> bytes:
        return self._cipher.encrypt(place, chunk, self._header)

    def open(self, body: bytes, place: bytes) -> bytes | None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        try:
            return self._cipher.decrypt(place, body, self._header)
        except InvalidTag:
            return None


class _Checksummed:
    def __init__(self, header: bytes) -> None:
        self._header = hashlib.blake2b(header).digest()

    def seal(self, chunk: bytes, place: bytes) -> bytes:
        return chunk + self._digest(chunk, place)

    def open(self, body: bytes, place: bytes) -> bytes | None:
        chunk, digest = body[:-_DIGEST_BYTES], body[-_DIGEST_BYTES:]
        return chunk if hmac.compare_digest(digest, self._digest(chunk, place)) else None

    def _digest(self, chunk: bytes, place: bytes) -> bytes:
        return hashlib.blake2b(place + chunk, key=self._header, digest_size=_DIGEST_BYTES).digest()


class Writer:
    """Writes a backup to `file`: first the manifest, then the data passed to `write`, and the end by `finish`.

    `digest` is the SHA-256 (hex) and `size` the bytes of all that was written.
    """

    def __init__(self, file: BinaryIO, *, key: str, manifest: dict[str, Any], created_at: datetime) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._buffer = bytearray()
        self._number = 0
        self.size = 0
        fields: dict[str, Any] = {"created_at": created_at.isoformat(), "cipher": _AES if key else _PLAIN}
        made = b""
        if key:
            salt = os.urandom(16)
            made, check = _derive(key, salt)
            fields |= {"salt": salt.hex(), "check": check.hex()}
        header = json.dumps(fields, sort_keys=True).encode()
        self._put(MAGIC + _LENGTH.pack(len(header)) + header)
        self._sealer: _Sealer = _Encrypted(made, MAGIC + header) if key else _Checksummed(MAGIC + header)
        packed = json.dumps(manifest).encode()
        self.write(_LENGTH.pack(len(packed)) + packed)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        self._buffer += data
        # The last chunk is marked as such, so one chunk is kept back.
        while len(self._buffer) > CHUNK_BYTES:
            self._put_chunk(bytes(self._buffer[:CHUNK_BYTES]), last=False)
            del self._buffer[:CHUNK_BYTES]

    def finish(self) -> None:
        """Write the rest and wait until all of it is on disk."""
        self._put_chunk(bytes(self._buffer), last=True)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _put_chunk(self, chunk: bytes, *, last: bool) -> None:
        body = self._sealer.seal(chunk, _place(self._number, last=last))
        self._put(_CHUNK.pack(last, len(body)) + body)
        self._number += 1

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)


class Reader:
    """Reads a backup from `file`. `manifest` is what was written first; `chunks` yields the rest, once.

    Raises BackupDamaged when the file is not a backup, is cut off or altered, or when `key` is wrong.
    """

    def __init__(self, file: BinaryIO, *, key: str) -> None:
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise BackupDamaged(f"{file.name} is not a backup of MemOS, or of a version that this one does not read.")
        header = self._exactly(self._length(MAX_HEADER_BYTES))
        try:
            fields = json.loads(header)
            self.created_at = datetime.fromisoformat(fields["created_at"])
            self.encrypted = fields["cipher"] != _PLAIN
            salt, check = bytes.fromhex(fields.get("salt", "")), bytes.fromhex(fields.get("check", ""))
        except (ValueError, KeyError, TypeError) as error:
            raise self._error_of_altered() from error
        if self.encrypted:
            self._sealer: _Sealer = _Encrypted(self._key_of(key, salt, check), MAGIC + header)
        else:
            self._sealer = _Checksummed(MAGIC + header)
        self._stream = self._open_chunks()
        self._rest = b""
        self.manifest: dict[str, Any] = self._read_manifest()

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes after the manifest. Raises BackupDamaged unless the file is whole and ends there."""
        if self._rest:
            yield self._rest
        yield from self._stream
        if self._file.read(1):
            raise BackupDamaged(f"{self._file.name} goes on after its end: something was added to it.")

    def _open_chunks(self) -> Iterator[bytes]:
        number, last = 0, 0
        while not last:
            last, length = _CHUNK.unpack(self._exactly(_CHUNK.size))
            if last > 1 or length > CHUNK_BYTES + _OVERHEAD:
                raise self._error_of_altered()
            chunk = self._sealer.open(self._exactly(length), _place(number, last=bool(last)))
            if chunk is None:
                raise self._error_of_altered()
            number += 1
            yield chunk

    def _read_manifest(self) -> dict[str, Any]:
        held = b""
        while len(held) < _LENGTH.size or len(held) < _LENGTH.size + _LENGTH.unpack(held[: _LENGTH.size])[0]:
            chunk = next(self._stream, None)
            if chunk is None or len(held) > MAX_MANIFEST_BYTES:
                raise self._error_of_altered()
            held += chunk
        end = _LENGTH.size + _LENGTH.unpack(held[: _LENGTH.size])[0]
        self._rest = held[end:]
        return dict(json.loads(held[_LENGTH.size : end]))

    def _key_of(self, key: str, salt: bytes, check: bytes) -> bytes:
        if not key:
            raise BackupDamaged(f"{self._file.name} is encrypted: set MEMOS_BACKUP_KEY (or MEMOS_BACKUP_KEY_FILE).")
        made, expected = _derive(key, salt)
        if not hmac.compare_digest(check, expected):
            raise BackupDamaged(
                f"{self._file.name} was encrypted with another key than the one in MEMOS_BACKUP_KEY "
                "(or its header was altered)."
            )
        return made

    def _length(self, most: int) -> int:
        length = int(_LENGTH.unpack(self._exactly(_LENGTH.size))[0])
        if length > most:
            raise self._error_of_altered()
        return length

    def _exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise BackupDamaged(
                f"{self._file.name} is cut off: it ends at byte {self._file.tell()}, before its last part."
            )
        return data

    def _error_of_altered(self) -> BackupDamaged:
        return BackupDamaged(f"{self._file.name} was altered, or is damaged, before byte {self._file.tell()}.")


def check_key(key: str) -> None:
    """Raise BackupError for a key that can be guessed; an empty key is allowed."""
    if key and len(key) < MIN_KEY_CHARS:
        raise BackupError(
            f"MEMOS_BACKUP_KEY has fewer than {MIN_KEY_CHARS} characters and can be guessed: make one with "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )


def digest_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _derive(key: str, salt: bytes) -> tuple[bytes, bytes]:
    """Return the key of the cipher, and 16 bytes by which a wrong one is recognised."""
    made = hashlib.scrypt(key.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=2**26, dklen=48)
    return made[:32], made[32:]


def _place(number: int, *, last: bool) -> bytes:
    """Return a chunk's nonce: 12 bytes, unique under one key."""
    return number.to_bytes(11) + bytes([last])
