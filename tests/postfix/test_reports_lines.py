"""The lines that we ship for reports by mail, in a real Postfix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available
from tests.postfix.shipped import Lines

LINES = Lines("main.cf.reports", "lmtp:unix:/run/oborona-intake/reports.sock")

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


def test_postfix_understands_every_line(tmp_path: Path) -> None:
    said = LINES.as_understood(tmp_path)
    assert (
        "transport_maps = inline:{ { spam@example.org = "
        "lmtp:unix:/run/oborona-intake/reports.sock }"
    ) in said
    assert (
        "check_recipient_access inline:{ { spam@example.org = permit_mynetworks, "
        "permit_sasl_authenticated, reject }"
    ) in said


def test_reports_wait_in_the_queue_while_we_are_away_and_strangers_are_refused(
    open_folder: Path,
) -> None:
    address = f"unix:{open_folder}/reports.sock"
    often = {"minimal_backoff_time": "3s", "maximal_backoff_time": "3s", "queue_run_delay": "1s"}
    here = {"virtual_mailbox_domains": "example.org", "mynetworks": "127.0.0.0/8"}
    with Postfix(main=LINES.settings(f"lmtp:{address}") | often | here) as postfix:
        to = ["spam@example.org"]
        stranger = postfix.send(
            b"Subject: x\r\n\r\nx\r\n", recipients=to, xclient={"ADDR": "192.0.2.9"}
        )
        assert stranger[-1].startswith("554 5.7.1 <spam@example.org>: Recipient address rejected")
        loop = postfix.send(
            b"Subject: x\r\n\r\nx\r\n",
            sender="",
            recipients=["fbl@example.org"],
            xclient={"ADDR": "192.0.2.9"},
        )
        assert loop[-1].startswith("250 ")
        assert postfix.send(b"Subject: x\r\n\r\nx\r\n", recipients=to)[-1].startswith("250 ")
        postfix.wait_log("status=deferred (connect to mx.test[")
        door = {
            "intake.mail_listen": address,
            "intake.socket_mode": "0666",
            "intake.report_spam": to[0],
            "intake.report_loops": "fbl@example.org",
            "worker.processes": 1,
        }
        with Oborona(door):
            postfix.wait_log("to=<spam@example.org>, relay=mx.test[", 30)
            postfix.wait_log("status=sent (250 2.0.0 Taken)", 30)
