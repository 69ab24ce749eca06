"""Hands requests over to another process, with their connections.

Clients see one address: the connection that a web process has accepted goes on in the other one. What has arrived
travels in a file, both as descriptors through a pair of sockets that is made before the processes are. While the other
process is started anew, what is handed over waits in the pair.

Requests that take long go to a process of their own, which answers them and closes. Of the others, those that find
their process at work go to the one that has least to do, and their connection stays there: which process accepts a
connection is chance, and of eight that are opened at once one process may take all. A process that is replaced passes
on the connections on which nothing has arrived.
"""

from __future__ import annotations

import array
import errno
import fcntl
import mmap
import os
import socket
import tempfile
import termios
import time
from collections.abc import Callable
from typing import IO

# One byte each: a stream of sockets never joins messages that bring descriptors.
_MESSAGE = b"r"


def open_unnamed_file() -> IO[bytes]:
    """A file to write and read: in memory where the system has that, else in the temporary folder."""
    try:
        return os.fdopen(os.memfd_create("memos"), "w+b")
    except (AttributeError, OSError):
        return tempfile.TemporaryFile()


class Forwarding:
    """Between processes that are forked after it is made: any may send, and one receives."""

    def __init__(self) -> None:
        self._sending, self.receiving = socket.socketpair()
        self._sending.setblocking(False)
        self.receiving.setblocking(False)
        # Whether the one that receives has left.
        self._left = mmap.mmap(-1, 1)
        # Shared by those who send, and for the one that leaves alone: a record, which the system unlocks when a process
        # dies.
        self._lock = open_unnamed_file()

    def close(self) -> None:
        """For a process that has nothing to do with it any more."""
        for one in (self._sending, self.receiving, self._lock):
            one.close()

    def enter(self) -> None:
        """The one that receives is there."""
        self._left[0] = 0

    def leave(self) -> None:
        """The one that receives ends, and what waits after this call is all that will. One that dies does not say so:
        what is sent then waits for the next."""
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX)
        except OSError:
            # There are no locks here. What is being sent in this very moment may be lost.
            self._left[0] = 1
            return
        self._left[0] = 1
        fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def send(self, client: socket.socket, request: IO[bytes]) -> bool:
        """Hands over a connection and what has arrived on it; False when there is no room, or nobody who receives."""
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            if self._left[0]:
                return False
            return socket.send_fds(self._sending, [_MESSAGE], [client.fileno(), request.fileno()]) == len(_MESSAGE)
        except OSError:
            return False
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def receive(self) -> tuple[socket.socket, IO[bytes]] | None:
        """The next connection that was handed over, and what has arrived on it; None if none waits.

        Raises OSError when this process may open no more files: the client reads the end of its connection.
        """
        try:
            _, descriptors, _, _ = socket.recv_fds(self.receiving, len(_MESSAGE), 2)
        except BlockingIOError:
            return None
        for one in descriptors:
            os.set_inheritable(one, False)
        if len(descriptors) != 2:
            for one in descriptors:
                os.close(one)
            raise OSError(errno.EMFILE, "a request was handed over, and no more files can be opened")
        request = os.fdopen(descriptors[1], "rb")
        request.seek(0)
        return socket.socket(fileno=descriptors[0]), request

    def waiting(self) -> int:
        """How many have been handed over and not been received."""
        count = array.array("i", [0])
        fcntl.ioctl(self.receiving, termios.FIONREAD, count)
        return count[0] // len(_MESSAGE)


class Balance:
    """How many requests each web process is answering, known to all of them, and a way to hand one to another.

    Made before they are forked. A process is known by its number, from 0. It reports at least once a second; one that
    has been silent for SILENT_SECONDS is given nothing, and others take what waits for it.
    """

    SILENT_SECONDS = 3.0
    _AWAY = 1 << 32

    def __init__(self, processes: int) -> None:
        self._inboxes = [Forwarding() for _ in range(processes)]
        self._counts = memoryview(mmap.mmap(-1, 8 * processes)).cast("q")
        # Seconds of the clock that all processes share.
        self._reported = memoryview(mmap.mmap(-1, 8 * processes)).cast("d")
        for number in range(processes):
            self.forget(number)

    def close(self) -> None:
        """For a process that has nothing to do with it any more."""
        for inbox in self._inboxes:
            inbox.close()

    @property
    def numbers(self) -> range:
        """Of the processes that may take part."""
        return range(len(self._inboxes))

    def inbox(self, number: int) -> Forwarding:
        """Where the process receives what others hand over."""
        return self._inboxes[number]

    def report(self, number: int, requests: int) -> None:
        """Says how many requests the process is answering: it takes others from now on."""
        self._counts[number] = requests
        self._reported[number] = time.monotonic()

    def forget(self, number: int) -> None:
        """The process takes no others, or is gone, or not there yet."""
        self._counts[number] = self._AWAY

    def hand_over(self, number: int, requests: int, forward: Callable[[Forwarding], bool]) -> bool:
        """Forwards a request of the process that answers `requests` to the one with the fewest, if that has fewer;
        whether it did.

        For a moment one more may go there: one that has been received and not yet been counted, or that another process
        hands over in the same moment.
        """
        own = requests + self._inboxes[number].waiting()
        if own <= min(self._counts):
            return False
        loads = [self._load(other) for other in self.numbers]
        least = min(self.numbers, key=loads.__getitem__)
        return loads[least] < own and forward(self._inboxes[least])

    def find_other(self, number: int) -> Forwarding | None:
        """The inbox of the process with the fewest requests but for this one; None if no other is there."""
        others = [other for other in self.numbers if other != number and self._is_there(other)]
        return self._inboxes[min(others, key=self._load)] if others else None

    def are_others_there(self, number: int) -> bool:
        """Whether all processes but this one report."""
        return all(self._is_there(other) for other in self.numbers if other != number)

    def list_unattended(self) -> list[Forwarding]:
        """The inboxes in which something waits for a process that is gone, or silent."""
        return [
            self._inboxes[number]
            for number in self.numbers
            if not self._is_there(number) and self._inboxes[number].waiting()
        ]

    def _is_there(self, number: int) -> bool:
        is_silent = time.monotonic() - self._reported[number] > self.SILENT_SECONDS
        return self._counts[number] != self._AWAY and not is_silent

    def _load(self, number: int) -> int:
        return self._counts[number] + self._inboxes[number].waiting() if self._is_there(number) else self._AWAY
