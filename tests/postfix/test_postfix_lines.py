"""The lines that we ship for main.cf, in a real Postfix: in a chroot and without, and with Oborona
away.
"""

import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available
from tests.postfix.shipped import Lines

LINES = Lines("main.cf.oborona", "inet:127.0.0.1:8890")
GTUBE = (
    b"Subject: x\r\n\r\nXJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"
)

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


class QueuePostfix(Postfix):
    """A Postfix with a folder for the socket in its queue directory, and smtpd in a chroot if
    asked.
    """

    chroot = False

    def _write(self) -> None:
        super()._write()
        self.socket.parent.mkdir()
        os.chown(self.socket.parent, pwd.getpwnam("nobody").pw_uid, grp.getgrnam("postfix").gr_gid)
        self.socket.parent.chmod(0o750)
        if self.chroot:
            services = self.folder / "etc/master.cf"
            services.write_text(
                services.read_text().replace("inet n - n - - smtpd", "inet n - y - - smtpd")
            )

    @property
    def socket(self) -> Path:
        return self.folder / "spool/oborona/milter.sock"


@pytest.fixture(params=[False, True], ids=["no-chroot", "chroot"])
def postfix(request: pytest.FixtureRequest) -> Iterator[QueuePostfix]:
    made = QueuePostfix(main=LINES.settings("unix:oborona/milter.sock"))
    made.chroot = request.param
    with made:
        yield made


def test_postfix_understands_every_line(tmp_path: Path) -> None:
    assert "smtpd_milters = { inet:127.0.0.1:8890, " in LINES.as_understood(tmp_path)


def test_mail_waits_while_oborona_is_away_and_is_judged_when_it_is_back(
    postfix: QueuePostfix,
) -> None:
    assert postfix.send(GTUBE)[-1].startswith("451 4.7.1 ")
    door = {
        "doors.milter.listen": f"unix:{postfix.socket}",
        "doors.milter.socket_group": "postfix",
        "doors.milter.socket_mode": "0660",
    }
    with Oborona({**door, "worker.processes": 1}):
        assert postfix.send(GTUBE)[-1].startswith("550 5.7.1 ")
        assert postfix.send(b"Subject: x\r\n\r\nhello\r\n")[-1].startswith("250 ")
    assert postfix.send(GTUBE)[-1].startswith("451 4.7.1 ")
