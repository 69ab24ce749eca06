"""Permanently confines a process to what a parser needs of memory, CPU time, files, network and programs.

Linux enforces all of it; other systems only the POSIX limits.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory.parsers import landlock

MAX_OPEN_FILES = 64
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
# The architecture's number in <linux/audit.h>, the number of `clone`, and those of refused calls: socket, connect,
# bind, execve, execveat, ptrace, process_vm_readv, process_vm_writev, io_uring_setup, kill, tkill, pidfd_open; fork,
# vfork.
_CALLS = {
    "x86_64": (0xC000003E, 56, (41, 42, 49, 59, 322, 101, 310, 311, 425, 62, 200, 434, 57, 58)),
    "aarch64": (0xC00000B7, 220, (198, 203, 200, 221, 281, 117, 270, 271, 425, 129, 130, 434)),
}
# Its flags are hidden from the filter, so it is reported as missing, and the C library falls back to `clone`.
_CLONE_3 = 435
_CLONE_THREAD = 0x10000
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _NOT_THERE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
# Offsets of the call's number, its architecture and its first argument in the filter's input.
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
# Numbers from here on belong to another table (x32) with the same calls.
_OTHER_TABLE = 0x40000000


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a process: bytes of address space, CPU seconds of all threads, and bytes of each file it writes."""

    memory: int
    cpu_seconds: int
    file_bytes: int


# Number of child processes that must not look into this one now.
_hiding = threading.Lock()
_hidden_from = 0


@contextmanager
def hide_memory() -> Iterator[None]:
    """Hide this process's memory and environment from other processes of the same user (Linux)."""
    global _hidden_from  # noqa: PLW0603 - a state of the process
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    with _hiding:
        _hidden_from += 1
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        with _hiding:
            _hidden_from -= 1
            if not _hidden_from:
                libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def confine(limits: ProcessLimits, *, parent: int, readable: Iterable[str] = ()) -> None:
    """Confine this process, which ends with its `parent`. Except for the limits, what the system can't do is skipped.

    The process can write only in its working directory, and read only that, the code and `readable`.
    """
    for what, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _lower(what, most, most)
    # The first signal ends it; the second, one second later, ends it even if it ignores the first.
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    # A network without interfaces, and a separate user namespace, in which the process has no right to look into the
    # memory of its parent, which holds the server's secrets. A container may forbid both; then only the filter keeps
    # the process off the network.
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWNET)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    landlock.restrict(writable=Path.cwd(), readable=readable)
    _refuse_calls(libc)


def _lower(what: int, soft: int, hard: int) -> None:
    """Set a limit of this process, unless it is already lower."""
    most = resource.getrlimit(what)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(what, (soft, hard))


def _refuse_calls(libc: ctypes.CDLL) -> None:
    """Make the kernel refuse calls that connect, start programs or processes, or touch others; threads are allowed."""
    known = _CALLS.get(platform.machine())
    if known is None:
        return
    architecture, clone, numbers = known
    count = len(numbers)
    # Each step is (operation, steps to skip if true, steps to skip if false, operand); the last three are the outcomes.
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_GREATER_EQUAL, count + 5, 0, _OTHER_TABLE),
        *((_JUMP_EQUAL, count + 4 - place, 0, number) for place, number in enumerate(numbers)),
        (_JUMP_EQUAL, 5, 0, _CLONE_3),
        (_JUMP_EQUAL, 0, 2, clone),
        (_LOAD, 0, 0, _ARGUMENT),
        (_JUMP_IF_SET, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _NOT_THERE),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HL", len(steps), ctypes.addressof(code)))
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
