from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# Blocks of more than 512 bytes are malloc's; every fiftieth stays, so that no heap becomes shorter by itself.
_PROGRAM = """
from memory.free_memory import trim_heaps

def own():
    return int(next(line for line in open("/proc/self/smaps_rollup") if line.startswith("Private_Dirty")).split()[1])

blocks = [bytes(2_000) for _ in range(100_000)]
full = own()
del blocks[1::2], blocks[1::2], blocks[1::2], blocks[1::2], blocks[1::2]
kept = own()
given_back = trim_heaps()
print(full, kept, own(), given_back)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory in heaps of its own")
def test_what_was_freed_between_other_things_goes_back_to_the_system():
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    full, kept, left, given_back = done.stdout.split()
    assert int(kept) > 0.9 * int(full)
    assert int(left) < 0.5 * int(full)
    assert given_back == "True"


_THREADS = """
import ctypes, sys, threading
from memory.free_memory import share_heaps

done = share_heaps() if sys.argv[1] == "shared" else None
meet = threading.Barrier(8)

def work():
    blocks = [bytes(2_000) for _ in range(100)]
    meet.wait(30)
    return blocks

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
print(f"done={done}", file=sys.stderr)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has a heap for each thread")
def test_threads_share_two_heaps_unless_the_environment_says_how_many():
    def run(how: str, **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", _THREADS, how],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | environment,
        )
        return done.stdout.count("<heap nr="), done.stderr.strip()

    heaps, said = run("shared")
    assert (heaps <= 2, said) == (True, "done=True")
    assert run("own")[0] > 2
    assert run("shared", MALLOC_ARENA_MAX="4")[1] == "done=False"
