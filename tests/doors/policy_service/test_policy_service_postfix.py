"""The policy service under a real Postfix: each list of restrictions, the daemon dying and coming
back, stopping.
"""

from __future__ import annotations

import os
import re
import signal
import smtplib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peers.oborona import Oborona
from tests.peers.policy_client import PolicyClient, request
from tests.peers.postfix import Postfix, available

RULE = '[[rule]]\nname = "{name}"\nwhen = "{when}"\nscore = 300\n'
POLICY = "[verdict]\nreject_score = 200\n" + "".join(
    RULE.format(name=name, when=when)
    for name, when in {
        "CLIENT": "client.ip == '192.0.2.66' or client.ip == '127.0.0.66'",
        "SENDER": "sender == 'evil@bad.example'",
        "RECIPIENT": "recipient == 'nobody@example.test'",
    }.items()
)
WHOLE = b"Subject: x\r\n\r\nhello\r\n"
STAGES = ("client", "helo", "sender", "recipient", "data", "end_of_data")
PROMPT_S = 8.0  # against hangs alone


@pytest.fixture
def oborona(open_folder: Path) -> Iterator[Oborona]:
    policy = open_folder / "policy.d"
    policy.mkdir()
    (policy / "10.toml").write_text(POLICY)
    settings = {
        "paths.policy": policy,
        "doors.policy_service.listen": f"unix:{open_folder}/policy.sock",
        "doors.policy_service.socket_mode": "0666",
        "worker.processes": 2,
        "worker.drain_s": 60,  # an idle connection must not take it up
    }
    with Oborona(settings) as oborona:
        yield oborona


def kill(oborona: Oborona) -> None:
    """End the daemon without its doing, and wait for its workers, which go with it."""
    assert oborona.process is not None
    oborona.process.kill()
    oborona.process.wait(PROMPT_S)
    wait(
        lambda: (
            not any(
                Path("/proc", child).exists() for child in re.findall(r"child=(\d+)", oborona.log())
            )
        )
    )


def wait(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PROMPT_S
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def restrictions(folder: Path, *stages: str, default: str = "DUNNO") -> dict[str, str]:
    """Return main.cf settings that ask the service at these stages, and nowhere else."""
    ask = (
        f"check_policy_service {{ unix:{folder}/policy.sock, timeout=10s, "
        f"default_action={default} }}"
    )
    return {f"smtpd_{stage}_restrictions": ask for stage in stages}


def at_connect(oborona: Oborona, folder: Path) -> None:
    """Have clients refused when they connect."""
    (folder / "policy.d" / "20.toml").write_text("[verdict]\nclients_at = 'connect'\n")
    wait(lambda: "policy loaded" in oborona.log())


needs_postfix = pytest.mark.skipif(not available(), reason="needs Postfix and root")


@needs_postfix
@pytest.mark.parametrize("stage", STAGES)
def test_one_list_is_enough_to_refuse_client_sender_and_recipient(
    oborona: Oborona, open_folder: Path, stage: str
) -> None:
    with Postfix(main=restrictions(open_folder, stage)) as postfix:
        client = {"ADDR": "192.0.2.66", "NAME": "bad.example"}
        refused = r"(55[04]) 5\.7\.1 <.*>: .* rejected: {} refused, reference \w+"
        for who, heard in (
            ("Client", postfix.send(WHOLE, xclient=client)[-1]),
            ("Sender", postfix.send(WHOLE, sender="evil@bad.example")[-1]),
            ("Recipient", postfix.send(WHOLE, recipients=["nobody@example.test"])[-1]),
        ):
            assert re.fullmatch(refused.format(who), heard), heard
        assert postfix.send(WHOLE)[-1].startswith("250 ")


@needs_postfix
def test_a_client_can_be_refused_before_it_says_a_word(oborona: Oborona, open_folder: Path) -> None:
    at_connect(oborona, open_folder)
    at_once = restrictions(open_folder, "client") | {"smtpd_delay_reject": "no"}
    with Postfix(main=at_once) as postfix:
        with pytest.raises(smtplib.SMTPConnectError) as refused:
            smtplib.SMTP(
                "127.0.0.1", postfix.port, timeout=PROMPT_S, source_address=("127.0.0.66", 0)
            )
        assert refused.value.smtp_code == 554
        assert re.fullmatch(
            (
                rb"5\.7\.1 <unknown\[127.0.0.66\]>: Client host rejected: Client refused, "
                rb"reference \w+"
            ),
            bytes(refused.value.smtp_error),  # type: ignore[arg-type]
        )
        assert postfix.send(WHOLE)[-1].startswith("250 ")


@needs_postfix
def test_a_refused_client_is_counted_and_logged_once_however_many_lists_and_recipients_ask(
    oborona: Oborona, open_folder: Path
) -> None:
    recipients = [f"{number}@example.test" for number in range(5)]
    with Postfix(main=restrictions(open_folder, *STAGES)) as postfix:
        replies = postfix.send(
            WHOLE, recipients=recipients, xclient={"ADDR": "192.0.2.66", "NAME": "bad.example"}
        )
    assert [reply[:3] for reply in replies] == ["250"] + ["554"] * 5
    assert len(set(re.findall(r"reference (\w+)", " ".join(replies)))) == 1
    wait(lambda: "msg=verdict" in oborona.log())
    assert oborona.log().count("msg=verdict") == 1


@needs_postfix
@pytest.mark.parametrize(("default", "reply"), [("DUNNO", "250 "), ("DEFER", "450 4.7.1 ")])
def test_without_the_daemon_the_default_action_answers_and_with_it_the_daemon_again(
    oborona: Oborona, open_folder: Path, default: str, reply: str
) -> None:
    nobody = ["nobody@example.test"]
    with Postfix(main=restrictions(open_folder, "recipient", default=default)) as postfix:
        with postfix.connect() as smtp:
            smtp.docmd("MAIL", "FROM:<ann@a.example>")
            assert smtp.docmd("RCPT", f"TO:<{nobody[0]}>")[0] == 550
            kill(oborona)
            code, text = smtp.docmd("RCPT", "TO:<joe@example.test>")
            assert f"{code} {text.decode()}".startswith(reply)
        oborona.start()
        assert postfix.send(WHOLE, recipients=nobody)[-1].startswith("550 5.7.1 ")


@needs_postfix
def test_a_stop_does_not_wait_for_postfix_to_close_its_idle_connections(
    oborona: Oborona, open_folder: Path
) -> None:
    with Postfix(main=restrictions(open_folder, "recipient")) as postfix, postfix.connect() as smtp:
        smtp.docmd("MAIL", "FROM:<ann@a.example>")
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 250
        started = time.monotonic()
        oborona.halt()
        assert time.monotonic() - started < PROMPT_S
        assert not (open_folder / "policy.sock").exists()
        oborona.start()
        assert smtp.docmd("RCPT", "TO:<nobody@example.test>")[0] == 550


def test_broken_requests_and_a_killed_worker_cost_their_own_connection(
    oborona: Oborona, open_folder: Path
) -> None:
    at_connect(oborona, open_folder)
    address = f"unix:{open_folder}/policy.sock"
    bad = {"protocol_state": "CONNECT", "client_address": "192.0.2.66", "client_port": "4711"}
    with PolicyClient(address) as good, PolicyClient(address) as broken:
        assert good.ask(**bad).startswith("554 5.7.1 ")
        broken.send(request(**bad) + b"GET / HTTP/1.1\r\n\r\n")
        assert broken.action().startswith("554 5.7.1 ")
        assert broken.ended()
        assert good.ask(**bad | {"client_address": "192.0.2.7"}) == "DUNNO"
    (worker,) = set(re.findall(r"process=worker-0 child=(\d+)", oborona.log()))
    os.kill(int(worker), signal.SIGKILL)
    wait(lambda: oborona.log().count('msg="process serves" process=worker-0') == 2)
    with PolicyClient(address) as again:
        assert again.ask(**bad).startswith("554 5.7.1 ")


def test_an_address_that_is_taken_is_said_before_anything_starts(
    oborona: Oborona, open_folder: Path
) -> None:
    found = oborona.run(
        "--set",
        f"doors.milter.listen=unix:{open_folder}/other.sock",
        "--state",
        str(open_folder / "state"),
        "worker",
    )
    assert found.returncode != 0
    assert f"{open_folder}/policy.sock: is in use by process" in found.stderr
    assert not (open_folder / "other.sock").exists()
