"""Machines for a test: each its own layer above one on which docs/install.md was followed, once for
all tests of a run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import install_postfix, let_stranger_in
from tests.boot.steps import follow


@pytest.fixture(scope="session")
def installed() -> Iterator[Path]:
    """The disk of a machine that was a bare Debian, got a Postfix and one mailbox, and then what
    install.md says; it is switched off.

    The first process of a run that needs it makes it while others wait; the last one removes it.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = Path(f"/var/tmp/oborona-installed-{run}")
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            _share(folder, lock)
            yield folder
        finally:
            with suppress(BlockingIOError):  # others need it
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                Path(lock.name).unlink(missing_ok=True)


def _share(folder: Path, lock: TextIO) -> None:
    """Return once the disk is there, and this process is one of those that need it."""
    fcntl.flock(lock, fcntl.LOCK_SH)
    while not folder.exists():
        # nobody has it for long who finds no disk: each lets go to be the one that makes it
        fcntl.flock(lock, fcntl.LOCK_UN)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder)
        # letting others share it may let one have the lock alone for an instant, and remove it
        fcntl.flock(lock, fcntl.LOCK_SH)


def _install(folder: Path) -> None:
    with Machine() as made:
        install_postfix(made)
        assert made.run("postconf -F smtp/inet/chroot").strip() == "smtp/inet/chroot = y", (
            "as it comes"
        )
        # its last line, the doctor, fails unless mail is filtered
        print(follow(made, "From a clone"))
        made.leave(folder)


@pytest.fixture
def machine(installed: Path) -> Iterator[Machine]:
    """A machine with a Postfix, one mailbox and us, installed and started again since."""
    with Machine(installed) as made:
        let_stranger_in(made)
        yield made
