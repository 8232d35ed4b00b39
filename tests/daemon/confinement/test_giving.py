"""Socket files are given to whom the settings want, and nothing else is, whatever the daemon put in
its place.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.config.address import UnixAddress
from oborona.daemon import sockets
from oborona.errors import SocketError

CONFIG = Path(__file__).resolve().parents[3] / "etc/oborona.toml"
DAEMON, GROUP = 65533, 65532

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who gives files away")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


def bound(path: Path, owner: int = DAEMON) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    os.chown(path, owner, owner)
    return path


def test_a_socket_of_the_daemon_is_given(folder: Path) -> None:
    path = bound(folder / "s")
    for _ in range(2):
        sockets.give_socket_file(path, owner="", group=str(GROUP), of=DAEMON)
        assert (path.stat().st_uid, path.stat().st_gid) == (DAEMON, GROUP)
    sockets.give_socket_file(path, owner="65531", group="", of=DAEMON)
    sockets.give_socket_file(path, owner="65531", group="", of=DAEMON)
    assert (path.stat().st_uid, path.stat().st_gid) == (65531, GROUP)


def test_nothing_else_is(folder: Path) -> None:
    (folder / "file").write_text("a file of root")
    (folder / "link").symlink_to(folder / "file")
    (folder / "of_another").symlink_to(bound(folder / "another", owner=0))
    for name in ("file", "link", "of_another", "another", "missing"):
        with pytest.raises(SocketError):
            sockets.give_socket_file(folder / name, owner="", group=str(GROUP), of=DAEMON)
    assert (folder / "file").stat().st_gid == (folder / "another").stat().st_gid == 0


def test_the_command_gives_all_sockets_of_the_settings_that_are_there(folder: Path) -> None:
    state = folder / "state"
    state.mkdir()
    os.chown(state, DAEMON, DAEMON)
    milter, heard, delivery = (bound(folder / name) for name in ("milter", "heard", "delivery"))
    subprocess.run(
        [
            *(Path(sys.executable).with_name("oborona"), f"--config={CONFIG}", f"--state={state}"),
            *(
                f"--set=doors.milter.listen=unix:{milter}",
                f"--set=doors.milter.socket_group={GROUP}",
            ),
            *(
                f"--set=doors.delivery.listen=unix:{delivery}",
                f"--set=doors.delivery.socket_group={GROUP + 1}",
            ),
            *(f"--set=intake.mail_listen=unix:{heard}", f"--set=intake.socket_group={GROUP}"),
            *(f"--set=doors.policy_service.listen=unix:{folder}/none", "unit", "give"),
        ],
        timeout=60,
        check=True,
    )
    assert [path.stat().st_gid for path in (milter, heard, delivery)] == [GROUP, GROUP, GROUP + 1]


def test_a_daemon_without_the_right_leaves_it_to_who_made_its_name_space(folder: Path) -> None:
    """As `PrivateUsers=` of a unit: groups that are not in the name space can't be given."""
    script = (
        "import sys, os; from oborona.config.address import UnixAddress; from oborona.daemon "
        "import sockets;"
        f"made = sockets.listen(UnixAddress(sys.argv[1]), group='{GROUP}'); "
        f"print(os.stat(sys.argv[1]).st_gid)"
    )
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", script, str(folder / "s")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare failed" in done.stderr:
        pytest.skip("needs user name spaces")
    assert done.stdout.strip() == "0", done.stderr
    outside = sockets.listen(UnixAddress(str(folder / "t")), group=str(GROUP))
    assert (folder / "t").stat().st_gid == GROUP
    outside.close()
