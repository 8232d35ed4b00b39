"""Reading a whole store in a process of its own, for LMDB ends the process that meets a page which
is not what it should be.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.counters.lmdb_store import LmdbReader, as_store_error
from oborona.counters.verify import VerifyReport, verify
from oborona.errors import StoreAbsent, StoreError

FRESH: Final = multiprocessing.get_context("spawn")  # an environment is opened once in a process


def verify_in_subprocess(directory: Path) -> VerifyReport:
    """Read every record of a store, as `verify` does.

    That its reader was ended by a signal is a problem that it found.

    Raises:
        StoreVersion: a newer Oborona wrote it.
        StoreError: there is no store, it cannot be read, or its reader ended without a word.
    """
    ours, theirs = FRESH.Pipe(duplex=False)
    reader = FRESH.Process(target=_tell, args=(directory, theirs), daemon=True)
    reader.start()
    theirs.close()
    outcome: VerifyReport | StoreError | None = None
    with ours, contextlib.suppress(EOFError):  # it ended, and its status says how
        outcome = ours.recv()
    reader.join()
    status = reader.exitcode or 0
    if isinstance(outcome, VerifyReport):
        return outcome
    if outcome is not None:
        raise outcome
    if status < 0:
        name = signal.Signals(-status).name
        return VerifyReport(
            records=0, cells=0, problems=[f"a page made LMDB end the reading process ({name})"]
        )
    raise StoreError(f"{directory} was not read: the reading process ended with status {status}")


def _tell(directory: Path, theirs: Connection) -> None:
    reader = LmdbReader(directory)
    outcome: VerifyReport | StoreError
    try:
        with as_store_error(directory):
            with reader.transaction():
                environment = reader.environment
            if environment is not None:
                outcome = verify(environment)
            else:
                outcome = StoreAbsent(
                    f"no counter store in {directory}: has the writer run?", state_files.COUNTERS
                )
    except StoreError as error:
        outcome = error
    finally:
        reader.close()
    theirs.send(outcome)
