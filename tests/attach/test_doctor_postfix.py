"""`oborona doctor` and a real Postfix: what it proves, and the ways in which mail passes unfiltered
though everything looks attached.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona import state_files
from tests.letters import gtube
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix, available, debian

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")

LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nMessage-ID: "
    b"<1@a.example>\r\n\r\nAt noon?\r\n"
)
LOG = "mail.log"
BROKEN: Final = Path(__file__).parents[1] / "configs" / "29-policy-broken-toml" / "policy.d"


def looked(daemon: Oborona, postfix: Postfix) -> tuple[int, dict[str, dict[str, str]]]:
    told = daemon.run("doctor", "--json", "--postfix", f"{postfix.folder}/etc")
    assert "Traceback" not in told.stderr
    found = msgspec.json.decode(told.stdout, type=list[dict[str, str]])
    return told.returncode, {one["what"]: one for one in found}


def server(found: dict[str, dict[str, str]], postfix: Postfix) -> dict[str, str]:
    return found[f"mail server 127.0.0.1:{postfix.port}/inet"]


@pytest.fixture
def oborona() -> Iterator[Oborona]:
    with Oborona(
        {"doors.milter.listen": f"inet:127.0.0.1:{free_port()}", "worker.processes": 1}
    ) as daemon:
        yield daemon


def address(daemon: Oborona) -> str:
    return str(daemon.setting("doors.milter.listen"))


@pytest.mark.parametrize("chroot", [True, False], ids=["chroot", "no-chroot"])
def test_it_proves_that_mail_is_filtered_and_leaves_no_trace(
    oborona: Oborona, chroot: bool
) -> None:
    with Postfix(address(oborona), master=debian(chroot=chroot)) as postfix:
        assert postfix.send(LETTER)[-1].startswith("250 ")
        time.sleep(1)
        before = oborona.run("counters", "stats").stdout
        status, found = looked(oborona, postfix)
        assert status == 0, [one for one in found.values() if one["state"] == "FAIL"]
        assert server(found, postfix)["state"] == "OK"
        assert (
            "comes back with: 550 5.7.1 Message refused as spam"
            in server(found, postfix)["finding"]
        )
        assert ("as user postfix in its chroot" in server(found, postfix)["finding"]) is chroot
        assert found["daemon"]["state"] == "OK"
        assert found["verdicts"]["state"] == "OK"
        assert "1 within 15 min; Postfix took 1 messages" in found["verdicts"]["finding"]
        again = looked(oborona, postfix)[1]
        assert "can be read: 1 verdicts" in again["journal"]["finding"], (
            "the GTUBE is in no journal"
        )
        assert oborona.log().count("msg=verdict") == 1
        assert oborona.run("counters", "stats").stdout.split("\n")[:3] == before.split("\n")[:3]


def test_it_says_where_mail_passes_unjudged_while_we_are_away(oborona: Oborona) -> None:
    lets_in = "while we are away it lets mail in unjudged (default_action=accept)"
    milter = address(oborona)
    for entry, default, told in (
        (milter, "accept", True),
        (milter, "tempfail", False),
        (f"{{ {milter}, default_action=tempfail }}", "accept", False),
        (f"{{ {milter}, default_action=accept }}", "tempfail", True),
    ):
        with Postfix(entry, master=debian(), milter_default_action=default) as postfix:
            said = server(looked(oborona, postfix)[1], postfix)
            assert (said["state"], lets_in in said["finding"]) == ("OK", told), entry


def test_it_says_what_becomes_of_mail_that_comes_while_we_are_away(oborona: Oborona) -> None:
    oborona.halt()
    for action, told in (
        ("accept", "mail that comes is let in unjudged (default_action=accept)"),
        ("tempfail", "mail that comes waits with its senders (default_action=tempfail)"),
    ):
        entry = f"{{ {address(oborona)}, default_action={action} }}"
        with Postfix(entry, master=debian(), milter_default_action="reject") as postfix:
            status, found = looked(oborona, postfix)
            assert (status, server(found, postfix)["state"]) == (1, "FAIL")
            assert told in server(found, postfix)["finding"]


def test_a_milter_beside_us_that_is_not_there_stops_all_mail(oborona: Oborona) -> None:
    beside = f"inet:127.0.0.1:{free_port()}"
    for action, state in (("tempfail", "FAIL"), ("accept", "OK")):
        value = f"{address(oborona)}, {{ {beside}, default_action={action} }}"
        with Postfix(value, master=debian(), milter_default_action="accept") as postfix:
            assert postfix.send(LETTER)[-1].startswith("250 ") is (state == "OK")
            said = server(looked(oborona, postfix)[1], postfix)
            assert said["state"] == state
            assert (beside in said["finding"]) is (state == "FAIL")


def test_a_socket_that_the_chroot_hides() -> None:
    with (
        Oborona({"worker.processes": 1}) as daemon,
        Postfix(daemon.milter, master=debian(), milter_default_action="accept") as postfix,
    ):
        assert postfix.send(gtube().wire)[-1].startswith("250 "), "mail passes unfiltered"
        status, found = looked(daemon, postfix)
        assert status == 1
        said = server(found, postfix)
        assert said["state"] == "FAIL"
        assert f"asks {daemon.milter}, and runs in a chroot" in said["finding"]
        assert 'set doors.milter.listen to "inet:127.0.0.1:8890"' in said["hint"]
        assert found["verdicts"]["state"] == "FAIL"
        assert "could not ask a milter" in found["verdicts"]["finding"]


def test_a_socket_that_postfix_may_not_open() -> None:
    with (
        Oborona({"worker.processes": 1, "doors.milter.socket_mode": "0660"}) as daemon,
        Postfix(
            daemon.milter, master=debian(chroot=False), milter_default_action="accept"
        ) as postfix,
    ):
        assert postfix.send(gtube().wire)[-1].startswith("250 ")
        status, found = looked(daemon, postfix)
        assert status == 1
        said = server(found, postfix)
        assert said["state"] == "FAIL"
        assert "as user postfix, can't reach" in said["finding"]
        assert "Permission denied" in said["finding"]
        assert "srw-rw----" in said["finding"]
        assert 'doors.milter.socket_group = "postfix"' in said["hint"]


def test_a_socket_in_the_queue_directory_by_its_name_from_outside() -> None:
    with Postfix(master=debian(), milter_default_action="accept") as postfix:
        folder = postfix.folder / "spool/oborona"
        folder.mkdir(mode=0o755)
        listen = f"unix:{folder}/milter.sock"
        with Oborona({"worker.processes": 1, "doors.milter.listen": listen}) as daemon:
            postfix.set("smtpd_milters", listen)
            assert postfix.send(gtube().wire)[-1].startswith("250 ")
            status, found = looked(daemon, postfix)
            assert status == 1
            said = server(found, postfix)
            assert said["state"] == "FAIL"
            assert (
                "write into main.cf: smtpd_milters = { unix:oborona/milter.sock, " in said["hint"]
            )
            assert (
                daemon.run("attach", "--yes", "--postfix", f"{postfix.folder}/etc").returncode == 0
            )
            time.sleep(1)
            postfix.connect().quit()
            assert postfix.send(gtube().wire)[-1].startswith("550 5.7.1 ")
            assert server(looked(daemon, postfix)[1], postfix)["state"] == "OK"


def test_a_postfix_that_does_not_ask_and_mail_that_passes_by(oborona: Oborona) -> None:
    with Postfix(master=debian(options="-o smtpd_milters=")) as postfix:
        for _ in range(3):
            assert postfix.send(LETTER)[-1].startswith("250 ")
        status, found = looked(oborona, postfix)
        assert status == 1
        said = server(found, postfix)
        assert (said["state"], said["finding"]) == (
            "FAIL",
            "does not ask us: its smtpd_milters is empty in master.cf",
        )
        assert "postconf -c" in said["hint"]
        time.sleep(11)  # what was taken this moment may not be judged yet
        missed = looked(oborona, postfix)[1]["verdicts"]
        assert missed["state"] == "FAIL"
        assert (
            "Postfix took 3 messages within 15 min, 3 of them since our last verdict"
            in missed["finding"]
        )


def test_a_daemon_that_does_not_run_is_a_failure_with_its_last_reason(oborona: Oborona) -> None:
    with Postfix(address(oborona), master=debian(), milter_default_action="accept") as postfix:
        oborona.halt()
        started = oborona.run("--set", f"paths.policy={BROKEN}", "serve")
        assert started.returncode == 78
        status, found = looked(oborona, postfix)
        assert status == 1
        assert found["daemon"]["state"] == "FAIL"
        assert f"it did not start: {BROKEN}" in found["daemon"]["finding"]
        assert server(found, postfix)["state"] == "FAIL"
        assert "nobody listens there" in server(found, postfix)["finding"]


def test_somebody_else_at_the_address_is_told_from_us(oborona: Oborona) -> None:
    with Postfix(address(oborona), master=debian()) as postfix:
        for note in oborona.state.rglob(state_files.SECRET_NOTE):
            note.unlink()  # or this would be our own daemon with a secret that is not its own
        (oborona.state / "secret").write_bytes(b"s" * 32)
        status, found = looked(oborona, postfix)
        assert status == 1
        assert "another site's Oborona" in server(found, postfix)["finding"]


def test_a_stranger_gets_a_line_for_each_thing_and_no_traceback(oborona: Oborona) -> None:
    with Postfix(address(oborona), master=debian()) as postfix:
        state = f"paths.state={oborona.state}"
        words = [
            "--set" if word == "--state" else word for word in oborona.command("doctor", "--json")
        ]
        words = [state if word == str(oborona.state) else word for word in words]
        oborona.state.chmod(0o750)
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        told = subprocess.run(
            [*user, *words, "--postfix", f"{postfix.folder}/etc"], capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
        assert "Traceback" not in told.stderr, told.stderr
        found = {
            one["what"]: one for one in msgspec.json.decode(told.stdout, type=list[dict[str, str]])
        }
        assert server(found, postfix)["state"] == "WARN"
        assert "no GTUBE was sent" in server(found, postfix)["finding"]
        assert found["daemon"]["state"] == "WARN"
        assert found["daemon"]["hint"] == "run this as root or as the daemon's user"
