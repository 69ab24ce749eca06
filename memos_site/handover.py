"""Hands requests that take long over to a process of their own, with their connections.

Clients see one address: the connection that a web process has accepted goes on in the process that has the streams,
which answers it and closes it. What has arrived travels in a file, both as descriptors through a pair of sockets that
is made before the processes are. While that process is started anew, what is handed over waits in the pair.
"""

from __future__ import annotations

import os
import socket
from typing import IO

# One byte each: a stream of sockets never joins messages that bring descriptors.
_MESSAGE = b"r"


class Handover:
    """Between processes that are forked after it is made."""

    def __init__(self) -> None:
        self._sending, self.receiving = socket.socketpair()
        self._sending.setblocking(False)
        self.receiving.setblocking(False)

    def send(self, client: socket.socket, request: IO[bytes]) -> bool:
        """Hands over a connection and what has arrived on it; False when there is no room."""
        try:
            sent = socket.send_fds(self._sending, [_MESSAGE], [client.fileno(), request.fileno()])
        except OSError:
            return False
        return sent == len(_MESSAGE)

    def receive(self) -> tuple[socket.socket, IO[bytes]] | None:
        """The next connection that was handed over, if there is one, and what has arrived on it."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self.receiving, len(_MESSAGE), 2)
        except BlockingIOError:
            return None
        if len(descriptors) != 2:
            # This process may open no more files: the client reads the end of its connection.
            for one in descriptors:
                os.close(one)
            return None
        request = os.fdopen(descriptors[1], "rb")
        request.seek(0)
        return socket.socket(fileno=descriptors[0]), request
