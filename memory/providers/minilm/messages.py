"""Reads and writes messages on the socket of the embedding process: a length (4 bytes, big-endian) and the content.

A request is JSON, `{"model": "int8", "texts": [...]}`; a text that two models read differently is a list of both forms.
An answer is one byte, followed by the vectors (float32 in native byte order, one row for each text) or by an error.
"""

from __future__ import annotations

import socket
import struct

VECTORS = b"v"
FAILURE = b"f"
# Far more than any batch has.
MAX_BYTES = 1 << 27

_LENGTH = struct.Struct(">I")


def send(connection: socket.socket, *parts: bytes) -> None:
    """Sends one message, made of `parts`."""
    connection.sendall(b"".join((_LENGTH.pack(sum(map(len, parts))), *parts)))


def receive(connection: socket.socket) -> bytes | None:
    """The next message; None when the other side has closed. Raises ConnectionError when it closes amid a message or
    sends what is none."""
    head = _read(connection, _LENGTH.size)
    if not head:
        return None
    [length] = _LENGTH.unpack(head)
    if length > MAX_BYTES:
        raise ConnectionError(f"a message of {length} bytes is no message of ours")
    content = _read(connection, length)
    if length and not content:
        raise ConnectionResetError("the connection ended amid a message")
    return content


def _read(connection: socket.socket, length: int) -> bytes:
    content = bytearray()
    while len(content) < length:
        part = connection.recv(min(length - len(content), 1 << 20))
        if not part:
            if content:
                raise ConnectionResetError("the connection ended amid a message")
            break
        content += part
    return bytes(content)
