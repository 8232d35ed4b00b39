"""Begins, joins or leaves a site, and dies by its own hand before the Nth thing that it does to a
file or to PostgreSQL:

    python -m tests.replication.membership_program STATE begin|join|leave ADDRESS NAME N

0: it comes to its end, and says how many things it did.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psycopg

from oborona.daemon.site.departure import leave_site
from oborona.daemon.site.membership import begin_site, join_site

WATCHED = ("sqlite3.connect", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.rmdir")


def main() -> None:
    """Do it."""
    state, act, address, name, point = Path(sys.argv[1]), *sys.argv[2:5], int(sys.argv[5])
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in WATCHED or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            count()

    def execute(*arguments: Any, **options: Any) -> Any:
        count()
        return original(*arguments, **options)

    original = psycopg.Connection.execute
    psycopg.Connection.execute = execute  # type: ignore[method-assign]
    sys.addaudithook(hear)
    if act == "begin":
        begin_site(state, address, name, "1")
    elif act == "join":
        join_site(state, address, name, "1")
    else:
        leave_site(state)
    print(done, flush=True)


if __name__ == "__main__":
    main()
