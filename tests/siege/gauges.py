"""What a call costs: how much the process grows, and for how long the call holds the interpreter's lock."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from earleymask import Grammar, Matcher, Vocabulary

MiB = 1 << 20
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def _status(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


def begin_growth() -> int:
    """Give free memory back to the system, forget the peak so far, and return the memory in use, in bytes.

    0 if the system does not tell (outside Linux)."""
    if not CLEAR.exists():
        return 0
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR.write_text("5")
    except OSError:
        return 0
    return _status("VmRSS")


def growth(before: int) -> int:
    """Return by how many bytes the process was larger at its peak than `before`, which `begin_growth` returned."""
    return max(0, _status("VmHWM") - before) if before else 0


class RunDelay:
    """How long the thread that makes this object could run but had no core, in seconds. 0 if the system does not tell
    (outside Linux)."""

    def __init__(self) -> None:
        self.text = ctypes.create_string_buffer(96)
        try:
            self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self.file = -1
            return
        # Unlike `os.pread`, this does not give the interpreter's lock away: that would be one more wait for it.
        self.read = ctypes.PyDLL(None).pread
        self.read.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64]
        self.read.restype = ctypes.c_ssize_t

    def __call__(self) -> float:
        if self.file < 0 or self.read(self.file, self.text, len(self.text), 0) <= 0:
            return 0.0
        return int(self.text.value.split()[1]) / 1e9  # "time on a core, time waiting for one, number of turns"

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)


class Bystander:
    """A thread that makes masks of another grammar while the main thread works, and notes how late it wakes in a call.

    Both the time and the processor time of the main thread between two wakings are taken, and the lesser one counts, as
    in `bench.pauses`: so neither other processes nor a late system look like a lock that is held. The time in which
    the bystander could run but has no core is left out: each core may have a worker that goes on meanwhile. So are
    full garbage collections: they visit all objects of the process, whoever has made them. The longest one in a call
    of a matcher is noted: it visits little but what texts have added to the grammar, since each attack freezes the
    rest.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.clock = time.pthread_getcpuclockid(threading.get_ident())
        self.longest = 0.0
        self.longest_in = self.name = ""
        self.collected = self.collecting_since = 0.0  # seconds of full garbage collections
        self.collecting_cpu = 0.0
        self.longest_collection, self.collected_in = 0.0, ""
        self.begin = self.end = 0.0  # of the latest call, by `time.perf_counter`
        self.is_stopped = False
        self.matcher = Matcher(Grammar.json(), vocabulary)
        self.row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
        self.matcher.fill_bitmask(self.row)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        with suppress(OSError):  # only root may
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)
        run_delay = RunDelay()
        wall, cpu, collected, delay = time.perf_counter(), time.clock_gettime(self.clock), 0.0, run_delay()
        while not self.is_stopped:
            time.sleep(0.0005)
            self.matcher.fill_bitmask(self.row)
            wall_before, cpu_before, collected_before, delay_before = wall, cpu, collected, delay
            collected, delay = self.in_collections(), run_delay()
            wall, cpu = time.perf_counter(), time.clock_gettime(self.clock)
            within_call = min(wall, self.end) - max(wall_before, self.begin)
            held = min(within_call, cpu - cpu_before) - (collected - collected_before) - (delay - delay_before)
            if held > self.longest:
                self.longest, self.longest_in = held, self.name
        run_delay.close()

    @contextmanager
    def call(self, name: str = "") -> Iterator[None]:
        self.name = name
        self.end = math.inf
        self.begin = time.perf_counter()
        try:
            yield
        finally:
            self.end = time.perf_counter()

    def collecting(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            if phase == "start":
                self.collecting_since, self.collecting_cpu = time.perf_counter(), time.thread_time()
            else:
                took = min(time.perf_counter() - self.collecting_since, time.thread_time() - self.collecting_cpu)
                self.collected, self.collecting_since = self.in_collections(), 0.0
                if took > self.longest_collection and self.end == math.inf and self.name != "load":
                    self.longest_collection, self.collected_in = took, self.name

    def in_collections(self) -> float:
        """Return the seconds of full collections so far. The lock may have been given away before one is noted."""
        since = self.collecting_since
        return self.collected + (time.perf_counter() - since if since else 0.0)

    def __enter__(self) -> Bystander:
        gc.callbacks.append(self.collecting)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_stopped = True
        self.thread.join()
        gc.callbacks.remove(self.collecting)
