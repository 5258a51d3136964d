"""The end of the interpreter waits for threads of torch.

A thread of Gloo that lets go of a tensor while the interpreter is being finalized takes
the GIL, is ended by Python before 3.14, and takes the process with it: "terminate
called without an active exception", signal 6, after a training that went well
(https://github.com/pytorch/pytorch/issues/190489). So the other threads get the time to
finish what they are at."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

LIMIT_S = 1.0
STILL_S = 0.02  # longer than a thread waits for the GIL at once: 5 ms


def _threads() -> dict[str, Any]:
    """For each other thread its state and how often it was switched."""
    own = str(threading.get_native_id())
    seen = {}
    for name in os.listdir("/proc/self/task"):
        if name == own:
            continue
        try:
            with open(f"/proc/self/task/{name}/status") as f:
                seen[name] = [line for line in f
                              if line.startswith("State:") or "ctxt_switches:" in line]
        except OSError:
            pass  # it has ended
    return seen


def _sleeping(threads: dict[str, Any]) -> bool:
    return not any(line.startswith("State:\tR") for lines in threads.values()
                   for line in lines)


def threads_settle() -> None:
    """Wait until all other threads sleep and go on sleeping, but not longer than
    LIMIT_S."""
    if "torch.distributed" not in sys.modules or sys.version_info >= (3, 14):
        return
    end = time.monotonic() + LIMIT_S
    try:
        before = _threads()
        while time.monotonic() < end:
            time.sleep(STILL_S)
            now = _threads()
            if now == before and _sleeping(now):
                return
            before = now
    except OSError:
        pass  # no /proc: as without this
