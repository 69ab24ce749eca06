"""Reads a body that comes in chunks (RFC 9112, section 7.1) as it arrives."""

from __future__ import annotations

import re
import tempfile
from typing import IO

# Limits of a line (the size of a chunk with its extensions, or a trailer) and of all trailers together.
MAX_LINE_BYTES = 4_096
MAX_TRAILER_BYTES = 16_384

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?")


class ChunksRefused(Exception):
    """Refuses a body; `status` is 400 for bytes that are no chunk and 413 for too many."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Chunks:
    """Takes the bytes that arrive and keeps the body that they carry, in memory up to `spooled_bytes`."""

    def __init__(self, *, most: int, spooled_bytes: int) -> None:
        self.body: IO[bytes] = tempfile.SpooledTemporaryFile(spooled_bytes)  # noqa: SIM115 - closed with the request
        self.length = 0
        self._most = most
        self._unread = bytearray()
        # How much of the present chunk is still to come, and whether the line break after it is.
        self._lacks = 0
        self._awaits_break = False
        self._trailer_bytes: int | None = None

    def take(self, data: bytes) -> bytes | None:
        """Takes what has arrived. Returns the bytes behind the body when all of it is here, else None.

        Raises ChunksRefused, and OSError when there is no room for the body.
        """
        self._unread += data
        while self._unread:
            if self._lacks:
                self._take_piece()
                continue
            end = self._unread.find(b"\r\n")
            if end > MAX_LINE_BYTES or (end < 0 and len(self._unread) > MAX_LINE_BYTES):
                raise ChunksRefused(400)
            if end < 0:
                return None
            line = bytes(self._unread[:end])
            del self._unread[: end + 2]
            if self._trailer_bytes is not None:
                if not line:
                    return bytes(self._unread)
                self._skip_trailer(line)
            else:
                self._read_line(line)
        return None

    def _take_piece(self) -> None:
        piece = self._unread[: self._lacks]
        self.body.write(piece)
        del self._unread[: len(piece)]
        self._lacks -= len(piece)
        self._awaits_break = self._lacks == 0

    def _read_line(self, line: bytes) -> None:
        if self._awaits_break:
            if line:
                raise ChunksRefused(400)
            self._awaits_break = False
            return
        size = _SIZE.fullmatch(line)
        if size is None:
            raise ChunksRefused(400)
        self._lacks = int(size[1], 16)
        self.length += self._lacks
        if self.length > self._most:
            raise ChunksRefused(413)
        if not self._lacks:
            self._trailer_bytes = 0

    def _skip_trailer(self, line: bytes) -> None:
        assert self._trailer_bytes is not None
        self._trailer_bytes += len(line)
        if self._trailer_bytes > MAX_TRAILER_BYTES:
            raise ChunksRefused(400)
