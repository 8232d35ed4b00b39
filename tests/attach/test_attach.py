"""`oborona attach` and `detach` with a real Postfix, as Debian ships it: what they change, what
they refuse, and that mail is filtered afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.letters import gtube
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix, available, debian

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")

LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nMessage-ID: "
    b"<1@a.example>\r\n\r\nAt noon?\r\n"
)


@pytest.fixture(scope="module")
def oborona() -> Iterator[Oborona]:
    """A daemon on a port of loopback, as it is set by itself."""
    with Oborona(
        {"doors.milter.listen": f"inet:127.0.0.1:{free_port()}", "worker.processes": 1}
    ) as daemon:
        yield daemon


def asked(
    daemon: Oborona, what: str, postfix: Postfix, *words: str
) -> subprocess.CompletedProcess[str]:
    return daemon.run(what, "--postfix", str(postfix.folder / "etc"), *words)


def main_cf(postfix: Postfix) -> str:
    return (postfix.folder / "etc/main.cf").read_text()


def milters(postfix: Postfix) -> str:
    command = ["postconf", "-c", str(postfix.folder / "etc"), "-h", "smtpd_milters"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def entry(daemon: Oborona) -> str:
    port = str(daemon.setting("doors.milter.listen")).rpartition(":")[2]
    return (
        f"{{ inet:127.0.0.1:{port}, connect_timeout=5s, command_timeout=20s, "
        f"content_timeout=30s, default_action=tempfail }}"
    )


def filters(postfix: Postfix) -> bool:
    """Tell whether a GTUBE is refused, once Postfix has done what it was told: an smtpd that was
    idle may serve one session more.
    """
    time.sleep(1)
    postfix.connect().quit()
    return postfix.send(gtube().wire)[-1].startswith("550 5.7.1 Message refused as spam")


@pytest.mark.parametrize("chroot", [True, False], ids=["chroot", "no-chroot"])
def test_a_stock_postfix_is_attached_and_detached(oborona: Oborona, chroot: bool) -> None:
    with Postfix(master=debian(chroot=chroot)) as postfix:
        assert postfix.send(gtube().wire)[-1].startswith("250 "), "nobody is asked yet"
        before = main_cf(postfix)
        shown = asked(oborona, "attach", postfix, "--dry-run")
        assert shown.returncode == 0, shown.stderr
        assert f"+smtpd_milters = {entry(oborona)}" in shown.stdout
        assert main_cf(postfix) == before, "a dry run changes nothing"

        told = asked(oborona, "attach", postfix)
        assert told.returncode == 1
        assert "nothing was changed; --yes makes the change" in told.stderr
        assert main_cf(postfix) == before, "nobody said yes"

        made = asked(oborona, "attach", postfix, "--yes")
        assert made.returncode == 0, made.stderr
        assert "Postfix has read it" in made.stdout
        (kept,) = (postfix.folder / "etc").glob("main.cf.oborona-*")
        assert kept.read_text() == before
        assert milters(postfix) == entry(oborona)
        assert filters(postfix)
        assert postfix.send(LETTER)[-1].startswith("250 ")

        after = main_cf(postfix)
        again = asked(oborona, "attach", postfix, "--yes")
        assert again.returncode == 0
        assert "Postfix asks us already" in again.stdout
        assert main_cf(postfix) == after, "a second time changes nothing"

        back = asked(oborona, "detach", postfix, "--yes")
        assert back.returncode == 0, back.stderr
        assert milters(postfix) == ""
        assert not filters(postfix)
        assert asked(oborona, "detach", postfix, "--yes").returncode == 0, (
            "there is nothing left to take back"
        )


def test_dns_lists_are_turned_on_with_postfix_and_stay_when_it_is_detached(
    oborona: Oborona, tmp_path: Path
) -> None:
    size = ("--messages-a-day", "20000", "--no-commercial")
    command = [*oborona.command("--set", f"paths.policy={tmp_path / 'policy.d'}"), "attach"]
    kept = tmp_path / "policy.d/85-free-lists.toml"
    with Postfix(master=debian()) as postfix:
        command += ["--postfix", str(postfix.folder / "etc")]
        for words, status in ((("--dry-run", *size), 0), (size, 1), (("--yes", *size), 0)):
            assert milters(postfix) == ""
            assert not kept.exists()
            done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
            assert done.returncode == status, done.stderr
        assert milters(postfix) == entry(oborona)
        before = kept.read_text()
        assert "messages_a_day = 20000" in before
        assert "DNS lists: 8 of 12 are on" in done.stdout
        again = subprocess.run([*command, "--yes"], capture_output=True, text=True, check=True)
        assert "Postfix asks us already" in again.stdout
        assert "DNS lists: 8 of 12 are on" in again.stdout
        assert asked(oborona, "detach", postfix, "--yes").returncode == 0
        assert kept.read_text() == before


def test_an_entry_that_lets_mail_in_while_we_are_away_is_told_and_stays(oborona: Oborona) -> None:
    lets_in = "while we are away Postfix lets mail in unjudged (default_action=accept)"
    accept, tempfail = (
        entry(oborona).replace("tempfail", action) for action in ("accept", "tempfail")
    )
    for there, told in ((accept, True), (tempfail, False)):
        with Postfix(there, master=debian(), milter_default_action="accept") as postfix:
            said = asked(oborona, "attach", postfix, "--yes")
            assert said.returncode == 0, said.stderr
            assert "Postfix asks us already" in said.stdout
            assert (lets_in in said.stderr) is told
            assert milters(postfix) == there


def test_an_entry_for_where_we_were_goes_when_nobody_is_there(oborona: Oborona) -> None:
    """Left there it would put off all mail."""
    before = entry(oborona).replace(
        f"{oborona.setting('doors.milter.listen')}", f"inet:127.0.0.1:{free_port()}"
    )
    older = before.replace("tempfail", "accept")
    others = before.replace("20s", "19s")  # nobody of us wrote it
    for there, then in (
        (before, entry(oborona)),
        (older, entry(oborona)),
        (f"{entry(oborona)}, {before}", entry(oborona)),
        (others, f"{entry(oborona)}, {others}"),
    ):
        with Postfix(there, master=debian(), milter_default_action="accept") as postfix:
            made = asked(oborona, "attach", postfix, "--yes")
            assert made.returncode == 0, made.stderr
            assert milters(postfix) == then
    with socket.create_server(("127.0.0.1", 0)) as living:
        alive = before.replace(re.findall(r"1:(\d+)", before)[0], str(living.getsockname()[1]))
        with Postfix(master=debian(), milter_default_action="accept") as postfix:
            postconf = [
                "postconf",
                "-c",
                str(postfix.folder / "etc"),
                "-e",
                f"smtpd_milters = {alive}",
            ]
            subprocess.run(postconf, check=True)
            assert asked(oborona, "attach", postfix, "--yes").returncode == 0
            assert milters(postfix) == f"{entry(oborona)}, {alive}", "somebody is there"


def test_milters_that_are_there_stay_behind_ours(oborona: Oborona) -> None:
    there = "inet:127.0.0.1:8891, { unix:opendmarc/sock, default_action=accept }"
    with Postfix(there, master=debian(), milter_default_action="accept") as postfix:
        made = asked(oborona, "attach", postfix, "--yes")
        assert made.returncode == 0, made.stderr
        assert milters(postfix) == f"{entry(oborona)}, {there}"
        assert "unix:opendmarc/sock, which stands there already, is not to be found" in made.stderr
        assert filters(postfix)
        assert asked(oborona, "detach", postfix, "--yes").returncode == 0
        assert milters(postfix) == there


def test_an_override_of_master_cf_is_told_with_the_line_to_write(oborona: Oborona) -> None:
    others = debian(options="-o smtpd_milters=inet:127.0.0.1:8891")
    with Postfix(master=others, milter_default_action="accept") as postfix:
        before = main_cf(postfix)
        told = asked(oborona, "attach", postfix, "--yes")
        assert told.returncode == os.EX_CONFIG
        assert "has smtpd_milters of its own in master.cf" in told.stderr
        assert main_cf(postfix) == before
        lines = "\n".join(told.stderr.splitlines()[1:])
        path = {"PATH": f"{os.environ['PATH']}:/usr/sbin"}
        subprocess.run(["/bin/sh", "-ec", lines], check=True, env=os.environ | path)
        assert filters(postfix)
        assert "asks us already" in asked(oborona, "attach", postfix).stdout
        left = asked(oborona, "detach", postfix)
        assert left.returncode == 1
        assert "still asks us" in left.stderr


def test_a_port_apart_that_asks_others_is_told_and_does_not_hinder(oborona: Oborona) -> None:
    apart = f"{debian()}127.0.0.1:{free_port()} inet n - y - - smtpd -o smtpd_milters=\n"
    apart = apart.replace("127.0.0.1:{port} inet", "127.0.0.1:{port} inet", 1)
    with Postfix(master=apart + "smtpd pass - - y - - smtpd\n") as postfix:
        made = asked(oborona, "attach", postfix, "--yes")
        assert made.returncode == 0, made.stderr
        assert "has smtpd_milters of its own in master.cf and does not ask us" in made.stderr


def test_a_socket_that_the_chroot_hides_is_refused_with_what_to_write(open_folder: Path) -> None:
    with Oborona({"worker.processes": 1}) as daemon, Postfix(master=debian()) as postfix:
        told = asked(daemon, "attach", postfix, "--yes")
        assert told.returncode == os.EX_CONFIG
        assert "runs in a chroot" in told.stderr
        assert 'set doors.milter.listen to "inet:127.0.0.1:8890"' in told.stderr
        assert milters(postfix) == ""


@pytest.mark.parametrize("chroot", [True, False], ids=["chroot", "no-chroot"])
def test_a_socket_below_the_queue_directory(chroot: bool) -> None:
    with Postfix(master=debian(chroot=chroot)) as postfix:
        folder = postfix.folder / "spool/oborona"
        folder.mkdir(mode=0o755)
        door = {"doors.milter.listen": f"unix:{folder}/milter.sock", "worker.processes": 1}
        with Oborona(door | {"doors.milter.socket_mode": "0660"}) as closed:
            told = asked(closed, "attach", postfix, "--yes")
            assert told.returncode == os.EX_CONFIG
            assert "Permission denied" in told.stderr
            assert "srw-rw----" in told.stderr
            assert 'set doors.milter.socket_group = "postfix"' in told.stderr
        with Oborona(
            door | {"doors.milter.socket_mode": "0660", "doors.milter.socket_group": "postfix"}
        ) as daemon:
            made = asked(daemon, "attach", postfix, "--yes")
            assert made.returncode == 0, made.stderr
            assert "{ unix:oborona/milter.sock, " in milters(postfix)
            assert filters(postfix)


def test_nobody_and_somebody_else_at_our_address(open_folder: Path) -> None:
    port = free_port()
    away = Oborona({"doors.milter.listen": f"inet:127.0.0.1:{port}"})
    try:
        with Postfix(master=debian()) as postfix:
            told = asked(away, "attach", postfix, "--yes")
            assert told.returncode == os.EX_CONFIG
            assert "nobody listens there; start the daemon first" in told.stderr
            with Oborona(
                {"doors.milter.listen": f"inet:127.0.0.1:{port}", "worker.processes": 1}
            ) as other:
                away.state.mkdir(exist_ok=True)
                (away.state / "secret").write_bytes(b"s" * 32)
                told = asked(away, "attach", postfix, "--yes")
                assert told.returncode == os.EX_CONFIG
                assert "another site's Oborona" in told.stderr
                assert (
                    other.run(
                        "attach", "--postfix", f"{postfix.folder}/etc", "--dry-run"
                    ).returncode
                    == 0
                )
            assert milters(postfix) == ""
    finally:
        away.stop()


def test_a_stranger_sees_the_change_and_may_not_make_it(oborona: Oborona) -> None:
    with Postfix(master=debian()) as postfix:
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        state = f"paths.state={oborona.state}"
        words = ["--set" if word == "--state" else word for word in oborona.command("attach")]
        command = [*user, *(state if word == str(oborona.state) else word for word in words)]
        told = subprocess.run(
            [*command, "--yes", "--postfix", f"{postfix.folder}/etc"], capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
        assert told.returncode == 1
        assert f"+smtpd_milters = {entry(oborona)}" in told.stdout
        assert "only root may change main.cf" in told.stderr
        assert "Traceback" not in told.stderr
        assert milters(postfix) == ""


def test_a_change_that_postfix_does_not_like_is_undone(oborona: Oborona) -> None:
    with Postfix(master=debian()) as postfix:
        shutil.move(postfix.folder / "spool/hold", postfix.folder / "spool/hold-away")
        (postfix.folder / "spool/hold").write_text("no folder")
        before = main_cf(postfix)
        told = asked(oborona, "attach", postfix, "--yes")
        if told.returncode:
            assert "main.cf is as it was" in told.stderr
            assert main_cf(postfix) == before


def test_a_machine_without_postfix(oborona: Oborona, tmp_path: Path) -> None:
    told = subprocess.run(
        oborona.command("attach", "postfix", "--postfix", str(tmp_path)), capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert told.returncode == os.EX_CONFIG
    assert "Traceback" not in told.stderr


def test_exim_is_told_of_and_not_touched(oborona: Oborona) -> None:
    told = oborona.run("attach", "exim")
    assert told.returncode == 0
    assert "Exim is not changed by this command" in told.stdout
    assert "CHECK_DATA_LOCAL_ACL_FILE = /etc/exim4/oborona/acl_data" in told.stdout
    (copied,) = re.findall(r"&& cp (\S+)/\* /etc/exim4/oborona/", told.stdout)
    names = Path(copied, "main").read_text()  # from whatever folder that is typed
    for port, place in ((8892, "inet:127.0.0.1:8892"), (8893, "127.0.0.1 8893")):
        assert f'listen = "inet:127.0.0.1:{port}"' in told.stdout
        assert f" = {place}\n" in names, "Exim asks where we listen"
