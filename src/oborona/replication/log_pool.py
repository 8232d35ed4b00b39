"""Connections to the log that a process keeps: one that rests, and more while several threads
write.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from oborona.replication.link import ReplicationLink
from oborona.replication.log import ReplicationLog

_lock = threading.Lock()
_resting: dict[tuple[int, ReplicationLink], ReplicationLog] = {}


def close_resting() -> None:
    """Let go the connections that rest."""
    with _lock:
        while _resting:
            _resting.popitem()[1].close()


@contextmanager
def pooled_log(link: ReplicationLink) -> Iterator[ReplicationLog]:
    """Yield a log that nobody else uses meanwhile."""
    key = (os.getpid(), link)
    with _lock:
        log = _resting.pop(key, None)
    if log is None:
        log = ReplicationLog(link.address, link.machine)
    log.drop_ended()
    try:
        yield log
    finally:
        with _lock:
            other = _resting.setdefault(key, log)
        if other is not log:
            log.close()
