"""Machines for a test: each its own copy of one on which docs/install.md was followed, once for all
tests of a process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import install_postfix, let_stranger_in
from tests.boot.steps import follow


@pytest.fixture(scope="session")
def installed() -> Iterator[Path]:
    """The disk of a machine that was a bare Debian, got a Postfix and one mailbox, and then what
    install.md says; it is switched off.
    """
    with tempfile.TemporaryDirectory(prefix="oborona-installed-", dir="/var/tmp") as folder:
        disk = Path(folder, "root")
        with Machine() as made:
            install_postfix(made)
            assert made.run("postconf -F smtp/inet/chroot").strip() == "smtp/inet/chroot = y", (
                "as it comes"
            )
            # its last line, the doctor, fails unless mail is filtered
            print(follow(made, "From a clone"))
            made.leave(disk)
        yield disk


@pytest.fixture
def machine(installed: Path) -> Iterator[Machine]:
    """A machine with a Postfix, one mailbox and us, installed and started again since."""
    with Machine(installed) as made:
        let_stranger_in(made)
        yield made
