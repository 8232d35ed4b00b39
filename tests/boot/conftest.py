"""A machine for a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import install_postfix


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine with a Postfix and one mailbox."""
    with Machine() as made:
        install_postfix(made)
        assert made.run("postconf -F smtp/inet/chroot").strip() == "smtp/inet/chroot = y", "as it comes"
        yield made
