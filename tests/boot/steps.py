"""What the tests on a machine share: commands of a document run there, waiting, and that nothing is
left when we are gone.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.boot.documents import commands
from tests.boot.machine import CLONE, Machine

needs_machine = pytest.mark.skipif(
    os.geteuid() != 0 or not (shutil.which("debootstrap") and shutil.which("systemd-nspawn")),
    reason="needs root, debootstrap and systemd-nspawn",
)


def follow(machine: Machine, heading: str, page: str = "install.md", *, folder: str = ".") -> str:
    """Run the commands of a document under a heading; return what they say.

    Args:
        machine: where.
        heading: of the document.
        page: its file in docs.
        folder: that they are typed in, of the clone.
    """
    return "".join(machine.run(f"cd {folder}\n{block}") for block in commands(page, heading))


def eventually(machine: Machine, test: str) -> None:
    """Wait until a command succeeds there."""
    machine.run(
        f"until=$((SECONDS + 120)); until ( {test} ) >/dev/null 2>&1; do [ $SECONDS -lt "
        f"$until ]; sleep 0.2; done"
    )


def is_gone(machine: Machine) -> None:
    """Nothing of ours is left, by name or owner, but for main.cf as it was before us and the
    system's log.
    """
    left = machine.run(
        f"find / -xdev \\( -iname '*oborona*' -o -nouser -o -nogroup \\) -not -path "
        f"'{CLONE}*' -not -path '/root/*' -not -path '/srv/*' -not -path '/proc/*' -not "
        f"-path '/sys/*'"
    )
    assert [path for path in left.split() if not path.startswith("/etc/postfix/main.cf.")] == []
    assert (
        "oborona"
        not in machine.ask(
            "getent passwd; getent group; systemctl list-units --all --no-legend; "
            "systemctl list-unit-files --no-legend"
        ).lower()
    )
    assert machine.run("postconf -n smtpd_milters").strip() in ("", "smtpd_milters =")
    assert not machine.ask("ps -eo args | grep '^[o]borona'")
