"""The lines that we ship for main.cf, in a real Postfix: in a chroot and without, and with Oborona away."""

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available

LINES = Path(__file__).resolve().parents[2] / "etc/postfix/main.cf.oborona"
SHIPPED = "unix:/run/oborona/milter.sock"
GTUBE = b"Subject: x\r\n\r\nXJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


def settings(address: str) -> dict[str, str]:
    """Return what the file sets, with the socket of a test."""
    lines = [
        line.partition(" = ") for line in LINES.read_text().splitlines() if line and not line.startswith("#")
    ]
    assert any(SHIPPED in value for _, _, value in lines)
    return {name: value.replace(SHIPPED, address) for name, _, value in lines}


class QueuePostfix(Postfix):
    """A Postfix with a folder for the socket in its queue directory, and smtpd in a chroot if asked."""

    chroot = False

    def _write(self) -> None:
        super()._write()
        self.socket.parent.mkdir()
        os.chown(self.socket.parent, pwd.getpwnam("nobody").pw_uid, grp.getgrnam("postfix").gr_gid)
        self.socket.parent.chmod(0o750)
        if self.chroot:
            services = self.folder / "etc/master.cf"
            services.write_text(services.read_text().replace("inet n - n - - smtpd", "inet n - y - - smtpd"))

    @property
    def socket(self) -> Path:
        return self.folder / "spool/oborona/milter.sock"


@pytest.fixture(params=[False, True], ids=["no-chroot", "chroot"])
def postfix(request: pytest.FixtureRequest) -> Iterator[QueuePostfix]:
    made = QueuePostfix(main=settings("unix:oborona/milter.sock"))
    made.chroot = request.param
    with made:
        yield made


def test_postfix_understands_every_line(tmp_path: Path) -> None:
    (tmp_path / "main.cf").write_text("compatibility_level = 3.6\n" + LINES.read_text())
    shutil.copy("/usr/share/postfix/master.cf.dist", tmp_path / "master.cf")
    found = subprocess.run(
        ["/usr/sbin/postconf", "-c", tmp_path, "-n"], capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stderr == ""
    assert "smtpd_milters = { unix:/run/oborona/milter.sock, " in found.stdout


def test_mail_goes_on_while_oborona_is_away_and_is_judged_when_it_is_back(postfix: QueuePostfix) -> None:
    assert postfix.send(GTUBE)[-1].startswith("250 ")
    door = {
        "milter.listen": f"unix:{postfix.socket}",
        "milter.socket_group": "postfix",
        "milter.socket_mode": "0660",
    }
    with Oborona({**door, "milter.workers": 1}):
        assert postfix.send(GTUBE)[-1].startswith("550 5.7.1 ")
        assert postfix.send(b"Subject: x\r\n\r\nhello\r\n")[-1].startswith("250 ")
    assert postfix.send(GTUBE)[-1].startswith("250 ")
