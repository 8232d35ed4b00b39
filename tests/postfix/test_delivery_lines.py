"""The lines that we ship for the delivery door, in a real Postfix.

And mail that waits in its queue while the daemon is away.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.dovecot import Dovecot
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available
from tests.postfix.shipped import Lines
from tests.whole.gate import eventually

LINES = Lines("main.cf.delivery", "unix:/run/oborona/lmtp.sock")

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


def test_postfix_understands_every_line(tmp_path: Path) -> None:
    assert "virtual_transport = lmtp:unix:/run/oborona/lmtp.sock" in LINES.as_understood(tmp_path)


def test_mail_waits_in_the_queue_while_the_door_or_the_next_hop_is_away(open_folder: Path) -> None:
    address = f"unix:{open_folder}/lmtp.sock"
    often = {"minimal_backoff_time": "3s", "maximal_backoff_time": "3s", "queue_run_delay": "1s"}
    with Postfix(main=LINES.settings(address) | often) as postfix, Dovecot() as dovecot:
        assert postfix.send(b"Subject: first\r\n\r\nhello\r\n")[-1].startswith("250 ")
        postfix.wait_log("status=deferred (connect to mx.test[")
        door = {
            "doors.delivery.listen": address,
            "doors.delivery.socket_group": "postfix",
            "doors.delivery.next_hop": f"unix:{open_folder}/hop",
            "worker.processes": 1,
        }
        with Oborona(door) as oborona:
            postfix.wait_log("said: 451 4.4.2 No answer of the mailbox host, reference ")
            doctor = oborona.run("doctor").stdout
            assert "next hop" in doctor
            assert "mail waits in the queue" in doctor
            (open_folder / "hop").symlink_to(dovecot.lmtp)
            eventually(lambda: len(dovecot.messages("joe")) == 1, 20)
            assert b"Subject: first" in dovecot.messages("joe")[0]
            assert b"X-Mras" not in dovecot.messages("joe")[0], "it was never judged"
