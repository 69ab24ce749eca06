from __future__ import annotations

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
