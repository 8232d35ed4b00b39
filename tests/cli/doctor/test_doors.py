"""`oborona doctor` on the doors: what listens there, who can get to it, and whether Postfix
asks.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from oborona.cli.context import CliContext
from oborona.daemon.listeners import NONE_OPEN
from oborona.desk.doctor.doors import doors
from oborona.desk.doctor.postfix import postfix
from oborona.desk.doctor.report import CheckState
from tests.peers.oborona import Oborona
from tests.whole.couriers import House, next_hop

needs_postfix = pytest.mark.skipif(
    shutil.which("postconf", path="/usr/sbin:/usr/bin") is None, reason="needs Postfix"
)


def asked(folder: Path, **settings: object) -> CliContext:
    sets = {"doors.milter.listen": f"unix:{folder}/milter.sock"} | {
        name.replace("__", "."): value for name, value in settings.items()
    }
    return CliContext(
        None, folder / "state", tuple(f"{name}={value}" for name, value in sets.items())
    )


def looked(folder: Path, **settings: object) -> dict[str, tuple[CheckState, str]]:
    return {one.what: (one.state, one.words) for one in doors(asked(folder, **settings))}


@contextmanager
def answering(
    path: Path, answer: bytes, heard: list[bytes] | None = None, *, greets: bool = False
) -> Iterator[None]:
    """Somebody at a socket who says the same to everybody, and keeps what is heard.

    Who greets says it first.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(30)

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                if greets:
                    peer.sendall(answer)
                said = b""
                with suppress(ConnectionResetError):  # who has read enough of a greeting hangs up
                    said = peer.recv(1000)
                if heard is not None:
                    heard.append(said)
                if not greets:
                    peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(30)
    path.unlink()


def test_a_daemon_answers_at_both_doors() -> None:
    with Oborona() as shut:
        report = shut.run("doctor").stdout
        assert "a milter answers on" in report
        assert "policy service" not in report, "it is closed by itself"
    folder = shut.root
    folder.mkdir()
    try:
        with Oborona({"doors.policy_service.listen": f"unix:{folder}/policy.sock"}) as daemon:
            report = daemon.run("doctor").stdout
            assert f"a policy service answers on unix:{folder}/policy.sock" in report
            assert "a milter answers on" in report
            assert "verdict" not in daemon.log(), "who knocks is judged by nobody"
    finally:
        shutil.rmtree(folder)


ANSWERS = {
    "exim": (b"oborona/1 ping\n", b"verdict=accept version=1\n", "a service for Exim"),
    "spamd": (b"PING SPAMC/1.5\r\n\r\n", b"SPAMD/1.5 0 PONG\r\n", "a spamd"),
    "http": (b"GET /v1/health HTTP/1.0\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n", "a web server"),
    "proxy": (b"", b"220 mail.test ESMTP\r\n", "a mail server"),
    "delivery": (b"", b"220 mail.test LMTP\r\n", "a LMTP server"),
}


@pytest.mark.parametrize("door", ANSWERS)
def test_every_door_is_knocked_at_in_its_own_words(open_folder: Path, door: str) -> None:
    hello, answer, who = ANSWERS[door]
    path = open_folder / "door.sock"
    heard: list[bytes] = []
    settings = {f"doors__{door}__listen": f"unix:{path}"}
    with answering(path, answer, heard, greets=not hello):
        said = looked(open_folder, **settings)
    assert heard == [hello], "nobody speaks before a mail server has greeted him"
    assert any((CheckState.OK, f"{who} answers on unix:{path}") == one for one in said.values()), (
        said
    )
    with answering(path, b"what?\r\n", greets=not hello):
        said = looked(open_folder, **settings)
    assert any(one[0] is CheckState.FAIL for one in said.values()), said


@pytest.mark.parametrize("door", ["proxy", "delivery"])
def test_a_mail_server_that_takes_nobody_is_told_from_one_that_is_none(
    open_folder: Path, door: str
) -> None:
    path = open_folder / "door.sock"
    with answering(path, b"421 4.3.0 no next hop\r\n", greets=True):
        said = looked(open_folder, **{f"doors__{door}__listen": f"unix:{path}"})
    words = f"answers on unix:{path} and accepts no mail now: the log says why"
    assert any(one[0] is CheckState.FAIL and one[1].endswith(words) for one in said.values()), said


def test_the_proxy_is_open_while_its_next_hop_is(open_folder: Path) -> None:
    house = House(open_folder)
    proxy = {
        name: value for name, value in house.settings.items() if name.startswith("doors.proxy.")
    }
    with Oborona(proxy | {"worker.processes": 1, "doors.proxy.trusted": ""}) as daemon:
        with next_hop(house.next_hop):
            assert "a mail server answers on" in daemon.run("doctor").stdout
        assert "accepts no mail now" in daemon.run("doctor").stdout


def test_a_house_without_doors(open_folder: Path) -> None:
    said = looked(open_folder, doors__milter__listen="")
    assert said == {"listener": (CheckState.FAIL, NONE_OPEN)}
    assert list(postfix(asked(open_folder, doors__milter__listen=""))) == []


def test_doors_where_nobody_listens(open_folder: Path) -> None:
    said = looked(open_folder, doors__policy_service__listen=f"unix:{open_folder}/policy.sock")
    assert said["listener"] == (
        CheckState.FAIL,
        f"nothing listens on unix:{open_folder}/milter.sock: the daemon does not run",
    )
    assert said["policy service"][0] is CheckState.FAIL
    assert said["socket"] == (CheckState.OK, f"{open_folder} can hold it")
    assert "path" not in said
    said = looked(open_folder, doors__policy_service__listen="unix:/nowhere/at-all/policy.sock")
    assert said["socket"] == (
        CheckState.FAIL,
        "/nowhere/at-all is not there: make it, or set doors.policy_service.listen elsewhere",
    )


def test_a_port_that_somebody_else_has(open_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.settimeout(30)
        port = taken.getsockname()[1]

        def hang_up() -> None:
            peer, _ = taken.accept()
            peer.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        said = looked(open_folder, doors__policy_service__listen=f"inet:{port}@127.0.0.1")
        thread.join(30)
    state, words = said["policy service"]
    assert state is CheckState.FAIL
    assert str(port) in words


@pytest.mark.parametrize("answer", [b"", b"220 mail.test ESMTP\r\n", b"\0\0\0\x0dO"])
def test_another_program_at_the_policy_services_address(open_folder: Path, answer: bytes) -> None:
    path = open_folder / "policy.sock"
    with answering(path, answer):
        state, words = looked(open_folder, doors__policy_service__listen=f"unix:{path}")[
            "policy service"
        ]
    assert (state, words) == (
        CheckState.FAIL,
        f"something listens on unix:{path}, and it is no policy service",
    )


def test_a_policy_service_at_the_milters_address(open_folder: Path) -> None:
    with answering(open_folder / "milter.sock", b"action=DUNNO\n\n"):
        assert looked(open_folder)["listener"][0] is CheckState.FAIL


def test_a_folder_that_is_closed_to_the_mail_server(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o700)
    path = open_folder / "closed/policy.sock"
    said = looked(open_folder, doors__policy_service__listen=f"unix:{path}")
    assert said["path"] == (
        CheckState.WARN,
        f"{open_folder}/closed is closed to others: can the mail server's user get to {path}?",
    )


INET = "inet:8891@127.0.0.1"
UNIX = "unix:/var/spool/postfix/oborona/policy.sock"
ASKED = {
    "recipient": (("smtpd_recipient_restrictions = permit_mynetworks, check_policy_service "
        "unix:/var/spool/postfix/oborona/policy.sock\n"), UNIX),
    "braces": (("smtpd_recipient_restrictions = permit_mynetworks, check_policy_service { "
        "unix:oborona/policy.sock, timeout=25s, default_action=DUNNO }\n"), UNIX),
    "client, folded": (("smtpd_client_restrictions = permit_mynetworks,\n    "
        "check_policy_service\n    "
        "unix:oborona/policy.sock\n"), UNIX),
    "helo": ("smtpd_helo_restrictions = check_policy_service inet:127.0.0.1:8891\n", INET),
    "sender, by name": ("smtpd_sender_restrictions = check_policy_service inet:localhost:8891, permit\n", INET),
    "on every address": ("smtpd_sender_restrictions = check_policy_service inet:127.0.0.1:8891, permit\n", "inet:8891@0.0.0.0"),
}  # fmt: skip


def postfix_says(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    main: str,
    *,
    master: str = "smtp inet n - n - - smtpd\n",
    **settings: object,
) -> dict[str, tuple[CheckState, str]]:
    for name, text in (
        ("main.cf", "compatibility_level = 3.6\n" + main),
        ("master.cf", master),
    ):
        (folder / name).write_text(text)
        os.utime(
            folder / name, (1_700_000_000, 1_700_000_000)
        )  # Postfix waits for a file to be two seconds old
    monkeypatch.setenv("MAIL_CONFIG", str(folder))
    return {one.what: (one.state, one.words) for one in postfix(asked(folder, **settings))}


@needs_postfix
@pytest.mark.parametrize(("main", "listen"), ASKED.values(), ids=ASKED)
def test_postfix_asks_the_policy_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str, listen: str
) -> None:
    service = {
        "doors__policy_service__listen": listen,
        "doors__policy_service__allowed": "127.0.0.0/8",
    }
    said = postfix_says(tmp_path, monkeypatch, main, **service)
    where = main.partition(" ")[0]
    assert said["policy client"] == (CheckState.OK, f"Postfix asks us in {where}")
    assert said["mail server smtp/inet"][0] is CheckState.WARN, "it is no milter"


NOT_ASKED = {
    "nothing": ("", UNIX),
    "another service": ("smtpd_recipient_restrictions = check_policy_service unix:private/policy-spf\n", UNIX),
    "another folder": ("smtpd_recipient_restrictions = check_policy_service unix:other/policy.sock\n", UNIX),
    "another port": ("smtpd_recipient_restrictions = check_policy_service inet:127.0.0.1:10023\n", INET),
    "as a milter only": ("smtpd_milters = unix:/var/spool/postfix/oborona/policy.sock\n", UNIX),
    "not as a service": ("smtpd_recipient_restrictions = check_client_access unix:oborona/policy.sock\n", UNIX),
}  # fmt: skip


@needs_postfix
@pytest.mark.parametrize(("main", "listen"), NOT_ASKED.values(), ids=NOT_ASKED)
def test_postfix_does_not_ask_the_policy_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str, listen: str
) -> None:
    state, words = postfix_says(tmp_path, monkeypatch, main, doors__policy_service__listen=listen)[
        "policy client"
    ]
    assert state is CheckState.WARN
    assert words.startswith(
        "Postfix does not ask us; put last into smtpd_recipient_restrictions: "
        "check_policy_service { "
    )
    postfixs_own = "inet:127.0.0.1:8891" if listen == INET else "unix:oborona/policy.sock"
    assert f"{{ {postfixs_own}, timeout=25s, default_action=DUNNO }}" in words


@needs_postfix
def test_limits_need_the_end_of_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(main: str) -> tuple[CheckState, str]:
        return postfix_says(
            tmp_path,
            monkeypatch,
            main,
            doors__policy_service__listen=INET,
            doors__policy_service__limits=True,
        )["policy client"]

    at_rcpt = "smtpd_recipient_restrictions = check_policy_service inet:127.0.0.1:8891\n"
    state, words = said(at_rcpt)
    assert state is CheckState.WARN
    assert "write into main.cf: smtpd_end_of_data_restrictions = check_policy_service {" in words
    both = at_rcpt + "smtpd_end_of_data_restrictions = check_policy_service inet:127.0.0.1:8891\n"
    assert said(both) == (
        CheckState.OK,
        "Postfix asks us in smtpd_recipient_restrictions and smtpd_end_of_data_restrictions",
    )
    milter = f"smtpd_milters = unix:{tmp_path}/milter.sock\n"
    state, words = said(both + milter)
    assert state is CheckState.WARN
    assert "mail of your people counted twice" in words


@needs_postfix
def test_postfix_in_a_chroot_asks_another_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = "smtpd_recipient_restrictions = check_policy_service unix:/run/oborona/policy.sock\n"
    state, words = postfix_says(
        tmp_path,
        monkeypatch,
        main,
        master="smtp inet n - y - - smtpd\n",
        doors__policy_service__listen="unix:/run/oborona/policy.sock",
    )["policy client"]
    assert state is CheckState.FAIL
    assert "which is another place than ours, for smtp/inet in a chroot: nobody is asked" in words
    assert 'listen = "inet:127.0.0.1:8891" in [doors.policy_service]' in words


@needs_postfix
def test_a_policy_service_that_is_closed_is_no_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "policy client" not in postfix_says(tmp_path, monkeypatch, "")


@needs_postfix
def test_postfix_asks_at_both_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = (
        f"smtpd_milters = unix:{tmp_path}/milter.sock\n"
        + ASKED["helo"][0]
        + ASKED["sender, by name"][0]
    )
    said = postfix_says(tmp_path, monkeypatch, main, doors__policy_service__listen=INET)
    state, words = said["policy client"]
    assert state is CheckState.WARN
    assert "in smtpd_helo_restrictions and smtpd_sender_restrictions and as a milter" in words


def test_where_there_is_no_postfix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_options: None)
    (report,) = postfix(asked(tmp_path, doors__policy_service__listen=INET))
    assert report.words == "no Postfix here (no postconf)"
