"""Restricts the files that a process can open to certain folders with Landlock (Linux 5.13 and later).

Rights that an older kernel doesn't know are skipped; without Landlock nothing changes.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

# The numbers are the same on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
# Rights to files and folders from <linux/landlock.h>.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ALL_OF_1 = (1 << 13) - 1
# Rights to the network and to other processes, none of which is granted.
_TCP, _OUTSIDE = 0b11, 0b11
_TO_READ = _READ_FILE | _READ_DIR
_TO_WRITE = _TO_READ | _WRITE_FILE | _TRUNCATE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _REFER
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_ROOT = Path(__file__).resolve().parents[2]
# Shared libraries and what they look up; never /etc, /home, /proc or a temporary folder as a whole.
_SYSTEM = (
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64",
    "/etc/ld.so.cache", "/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/fonts", "/proc/self",
    "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
)  # fmt: skip


def read_version() -> int:
    """Return the kernel's version of Landlock; 0 if it has none or it is turned off."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION)))


def restrict(*, writable: Path, readable: Iterable[str] = ()) -> bool:
    """Permanently restrict this single-threaded process to the interpreter's folders, MemOS' code and `readable`.

    It can write in `writable` only. Return False if the kernel can't do that, in which case nothing is restricted.
    """
    version = read_version()
    if not version:
        return False
    handled = _ALL_OF_1 | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled |= _IOCTL_DEV if version >= 5 else 0
    fields = [handled, *([_TCP] if version >= 4 else []), *([_OUTSIDE] if version >= 6 else [])]
    asked = ctypes.create_string_buffer(struct.pack(f"{len(fields)}Q", *fields), 8 * len(fields))
    ruleset = _call(_CREATE_RULESET, asked, ctypes.c_size_t(8 * len(fields)), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        is_complete = _allow(ruleset, str(writable), _TO_WRITE & handled)
        for place in (*_list_code(), *_SYSTEM, *readable):
            _allow(ruleset, place, _TO_READ)
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return is_complete and _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0
    finally:
        os.close(ruleset)


def _list_code() -> list[str]:
    """Return the folders of the interpreter, of installed packages, and of MemOS' package but not its settings."""
    named = sysconfig.get_paths()
    places = [named[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    above = {_ROOT, *_ROOT.parents}
    places += [place for place in sys.path if place and Path(place).resolve() not in above]
    return [*dict.fromkeys([*places, str(Path(sys.base_prefix) / "lib"), str(_ROOT / "memory")])]


def _allow(ruleset: int, place: str, rights: int) -> bool:
    """Grant rights to a folder or file; return False if that fails, for example because it doesn't exist."""
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_A_FILE
        # struct landlock_path_beneath_attr, which is packed.
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, opened), 12)
        return _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)) == 0
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *arguments))
