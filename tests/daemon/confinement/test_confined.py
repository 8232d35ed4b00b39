"""Processes that are taken over: they signal, read and stop nobody, start nothing, and reach no
part of the kernel that they do not serve by.
"""

from __future__ import annotations

import errno
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.daemon.confinement.kinds import STARTS_PROGRAMS, ProcessKind
from tests.peers.oborona import Oborona
from tests.whole.gate import eventually

OTHER_ERRORS = {
    "clone3": errno.ENOSYS,
    "a later one": errno.ENOSYS,
    "words for a terminal": errno.ENOTTY,
    **{f"socket of family {family}": errno.EAFNOSUPPORT for family in (16, 17, 38, 40)},
}
ATTACKS = Path(__file__).with_name("attacks.py")

needs_filters = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="filters are for x86-64 and ARM64"
)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@needs_filters
@pytest.mark.parametrize("kind", [kind for kind in ProcessKind if kind not in STARTS_PROGRAMS])
def test_nobody_is_harmed_and_nothing_gained(
    kind: ProcessKind, victim: subprocess.Popen[bytes]
) -> None:
    told = subprocess.run(
        [sys.executable, ATTACKS, kind, str(victim.pid)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = {
        name: int(error)
        for name, _, error in (line.partition("\t") for line in told.stdout.splitlines())
    }
    assert len(found) > 50
    wanted = {"may: tgkill of itself": 0} | (
        {"a later one": errno.ENOSYS} if kind is ProcessKind.PICTURE else OTHER_ERRORS
    )
    assert found == {name: wanted.get(name, errno.EPERM) for name in found}
    assert victim.poll() is None


def filters(status: Path) -> int:
    """Return how many filters a thread has."""
    (count,) = re.findall(r"^Seccomp_filters:\s+(\d+)$", status.read_text(), re.MULTILINE)
    return int(count)


def serving(oborona: Oborona) -> dict[str, str]:
    """Return the processes that serve, by name."""
    return dict(re.findall(r'msg="process serves" process=(\S+) child=(\d+)', oborona.log()))


@needs_filters
@pytest.mark.parametrize("confined", [True, False])
def test_every_process_of_the_service_is_filtered(confined: bool) -> None:
    ours = filters(Path("/proc/self/status"))  # as in a container
    with Oborona({"worker.processes": 2, "confine.system_calls": str(confined).lower()}) as oborona:
        every = {
            "worker-0",
            "worker-1",
            "policy",
            "writer",
            "keeper",
            "reader",
            "trainer",
            "final-trainer",
        }
        # mail does not wait for all of them
        eventually(lambda: every <= serving(oborona).keys(), 60)
        for name, pid in serving(oborona).items():
            for thread in Path(f"/proc/{pid}/task").iterdir():
                assert filters(thread / "status") == ours + confined, name
        assert "not filtered" not in oborona.log()
