"""What was freed between what stays goes back to the system."""

from __future__ import annotations

import subprocess
import sys

MIB = 1 << 20
# a quarter stays, among them the last: the heap does not shrink by itself
FRAGMENTS = """
from oborona.daemon.heap import trim_heap, use_one_heap
use_one_heap()
pieces = [bytes(16_000) + bytes(number % 7) for number in range(4_000)]
kept = pieces[3::4]
del pieces
print(resident(), end=" ")
trim_heap()
print(resident())
"""
RESIDENT = """
import re
from pathlib import Path
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
"""
THREADS = """
import ctypes, threading
from oborona.daemon.heap import use_one_heap
if {one}:
    use_one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
found, together = [], threading.Barrier(4)
def take():
    together.wait()
    found.append(libc.malloc(1000))
    together.wait()
threads = [threading.Thread(target=take) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len({{address >> 26 for address in found}}))
"""


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_free_pages_go_back() -> None:
    before, after = map(int, run(RESIDENT + FRAGMENTS).split())
    assert before - after > 30 * MIB, (before, after)


def test_threads_share_a_heap() -> None:
    """Each heap of a thread of its own lies in 64 MiB of addresses."""
    assert int(run(THREADS.format(one=False))) > 1
    assert int(run(THREADS.format(one=True))) == 1
