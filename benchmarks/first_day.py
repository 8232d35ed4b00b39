"""From a bare Debian to the first message that its Postfix shows us, in seconds:  python -m
benchmarks.first_day

A Debian 12 as debootstrap makes it boots (systemd-nspawn), with a mirror of the packages that apt
and pip ask for on its own disk; Postfix is installed as it comes, then what docs/install.md says
under its title is run as it stands there. The clock stops when a message has arrived by SMTP, been
judged, and lies in its mailbox with our headers. Making the image, once, is not counted. Needs
root, debootstrap and systemd-nspawn (`./setup test` installs them).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tests.boot.documents import commands
from tests.boot.image import base_image
from tests.boot.machine import Machine
from tests.boot.mail import install_postfix, is_filtered


@contextmanager
def _timed(what: str, spent: dict[str, float]) -> Iterator[None]:
    started = time.monotonic()
    yield
    spent[what] = time.monotonic() - started
    print(f"{spent[what]:6.1f} s  {what}", flush=True)


def main() -> None:
    base_image()
    spent: dict[str, float] = {}
    with Machine() as machine:
        steps: list[tuple[str, Callable[[], object]]] = [
            ("Postfix, as Debian installs it", lambda: install_postfix(machine))
        ]
        lines = commands("install.md", "From a clone")[0].splitlines()
        steps.extend((line, partial(machine.run, line)) for line in lines)
        steps.append(
            ("a message in, filtered, and one refused", lambda: is_filtered(machine, "first"))
        )
        for what, step in steps:
            with _timed(what, spent):
                step()
    print(f"{sum(spent.values()):6.1f} s  in all")


if __name__ == "__main__":
    main()
