"""The lines that we ship for the policy service, in a real Postfix."""

from pathlib import Path

import pytest

from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available
from tests.postfix.shipped import Lines

LINES = Lines("main.cf.policy-service", "unix:/run/oborona/policy.sock")
RULE = (
    '[verdict]\nreject_score = 200\n[[rule]]\nname = "NOBODY"\nwhen = "recipient == '
    "'nobody@example.test'\"\nscore = 300\n"
)
NOBODY = ["nobody@example.test"]
WHOLE = b"Subject: x\r\n\r\nhello\r\n"

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


def test_postfix_understands_every_line(tmp_path: Path) -> None:
    assert "check_policy_service { unix:/run/oborona/policy.sock, " in LINES.as_understood(tmp_path)


def test_mail_goes_on_while_oborona_is_away_and_is_judged_when_it_is_back(
    open_folder: Path,
) -> None:
    (open_folder / "policy.d").mkdir()
    (open_folder / "policy.d/10.toml").write_text(RULE)
    address = f"unix:{open_folder}/policy.sock"
    door = {
        "doors.policy_service.listen": address,
        "doors.policy_service.socket_group": "postfix",
        "paths.policy": open_folder / "policy.d",
        "worker.processes": 1,
    }
    with Postfix(main=LINES.settings(address) | {"mynetworks": "192.0.2.0/24"}) as postfix:
        assert postfix.send(WHOLE, recipients=NOBODY)[-1].startswith("250 ")
        with Oborona(door):
            assert postfix.send(WHOLE, recipients=NOBODY)[-1].startswith("550 5.7.1 ")
            assert postfix.send(WHOLE, recipients=["x@elsewhere.test"])[-1].startswith("554 5.7.1 ")
            assert postfix.send(WHOLE)[-1].startswith("250 ")
            ours = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]"}
            assert postfix.send(WHOLE, recipients=NOBODY, xclient=ours)[-1].startswith("250 "), (
                "our own pass"
            )
        assert postfix.send(WHOLE, recipients=NOBODY)[-1].startswith("250 ")
