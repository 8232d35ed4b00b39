"""Limits on outgoing mail behind a real Postfix, with four workers: a stolen password over four
connections, what its owner is told, and that a program of the machine is never put off.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.account import AccountRecord, Customer, Trust
from oborona.accounts.store.accounts import AccountStore
from tests.peers.dns import Zones
from tests.peers.postfix import Postfix, transaction
from tests.whole.gate import CONTACT, LETTER, Gate, eventually, reference

WORKERS: Final = 4
CONNECTIONS: Final = 4
EACH: Final = 40  # messages of a connection
MOST: Final = 30
POLICY: Final = f"""
[[limit]]
name = "STOLEN"
each = "account"
count = "recipients"
window = "hour"
limit = {MOST}
then = "refuse"
unless = "login != 'stolen@example.test'"
[[limit]]
name = "HELD"
each = "account"
count = "messages"
window = "hour"
limit = 1
then = "hold"
unless = "login != 'held@example.test'"
[[limit]]
name = "PUT_OFF"
each = "address"
count = "messages"
window = "hour"
limit = 1
then = "tempfail"
unless = "sender != 'web@example.test' and login != 'put-off@example.test'"
[[limit]]
name = "TRIED"
each = "account"
count = "recipients"
window = "day"
limit = 2
then = "refuse"
unless = "login != 'tried@example.test'"
mode = "shadow"
[[limit]]
name = "NEW"
each = "account"
count = "new_recipients"
window = "hour"
limit = 3
then = "refuse"
unless = "login != 'new@example.test'"
[[limit]]
name = "FIRM"
each = "customer"
count = "recipients"
window = "hour"
limit = "100 if rating < 100 or trusted else 3"
then = "refuse"
unless = "customer != 'firm'"
"""


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    settings = {"worker.processes": WORKERS}
    with Zones() as zones, Gate(zones.setting, POLICY, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def postfix(gate: Gate) -> Iterator[Postfix]:
    """A Postfix of our own people, whose mail leaves it; a deferred one can be read."""
    milter = f"unix:{gate.folder}/milter.sock"
    main = {
        "non_smtpd_milters": milter,
        "smtpd_relay_restrictions": "permit_mynetworks, check_sender_access static:OK, reject",
        "default_transport": "smtp:[127.0.0.1]:1",
        "smtpd_error_sleep_time": "0",
        "smtpd_hard_error_limit": "1000",
    }
    with Postfix(milter, main=main) as running:
        yield running


def told(login: str, ip: str = "192.0.2.9") -> dict[str, str]:
    return {"ADDR": ip, "NAME": "[UNAVAILABLE]", "LOGIN": login}


def send(postfix: Postfix, login: str, recipients: int = 1, ip: str = "192.0.2.9") -> list[str]:
    return postfix.send(
        LETTER,
        sender="ann@example.test",
        recipients=[f"r{number}@b.example" for number in range(recipients)],
        xclient=told(login, ip),
    )


def queue(postfix: Postfix) -> dict[str, str]:
    command = ["/usr/sbin/postqueue", "-c", f"{postfix.folder}/etc", "-j"]
    lines = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
    rows = [msgspec.json.decode(line) for line in lines.splitlines()]
    return {row["queue_id"]: row["queue_name"] for row in rows}


def test_a_stolen_password_is_stopped_soon_after_its_limit_in_all_workers(
    gate: Gate, postfix: Postfix, record_property: Callable[[str, object], None]
) -> None:
    login = "stolen@example.test"
    replies: list[list[str]] = []

    def flood(connection: int) -> None:
        with postfix.connect(told(login)) as smtp:
            for number in range(EACH):
                recipient = f"c{connection}n{number}@b.example"
                replies.append(transaction(smtp, LETTER, "ann@example.test", [recipient]))

    threads = [threading.Thread(target=flood, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out = [one for one in replies if len(one) == 3 and one[-1].startswith("250")]
    record_property("overshoot", len(out) - MOST)
    print(f"limit {MOST}: {len(out)} of {CONNECTIONS * EACH} left")
    assert MOST <= len(out) < CONNECTIONS * EACH
    late: list[list[str]] = []  # left while a worker did not know yet: they count too

    def all_refuse() -> bool:
        replies = [send(postfix, login) for _ in range(3 * WORKERS)]
        late.extend(one for one in replies if one[-1].startswith("250"))
        return all(one[0].startswith("550") for one in replies)

    eventually(all_refuse)  # at MAIL FROM, whichever worker is asked
    refused = send(postfix, login)[0]
    ident = reference(refused)
    words = "Too many recipients of this account"
    assert refused == f"550 5.7.1 {words}, reference {ident}; {CONTACT}"
    eventually(lambda: ident in {one["id"] for one in gate.events("limit")})
    # who is refused for the same once more is told the same reference, and has a line each time
    lines = [one for one in gate.events("limit") if one["id"] == ident]
    for line in lines:
        assert (line["limit"], line["login"], line["most"]) == ("STOLEN", login, MOST)
        assert line["value"] > MOST  # counts on their way may be read twice for a moment: see below

    def all_counted() -> bool:
        assert send(postfix, login)[0].startswith("550")
        stolen = [one["value"] for one in gate.events("limit") if one["limit"] == "STOLEN"]
        return bool(stolen[-1] == len(out) + len(late) + 1)

    eventually(all_counted)
    assert (line["stage"], line["done"], line["mode"]) == ("sender", "refuse", "live")
    assert send(postfix, "ann@example.test")[-1].startswith("250")
    eventually(lambda: replayed(gate)["STOLEN"]["messages"] >= 1)
    all_of_it_is_refused(postfix)
    cleaned_it_begins_anew(gate, postfix)


def replayed(gate: Gate) -> dict[str, Any]:
    """What `oborona policy limits` says, by limit."""
    told = gate.oborona.run("policy", "limits", "--since", "1h", "--json")
    return {one["limit"]: one for one in msgspec.json.decode(told.stdout)["limits"]}


def all_of_it_is_refused(postfix: Postfix) -> None:
    login = "stolen@example.test"
    other = "Stolen@Example.test"  # the same account
    assert send(postfix, login, MOST + 1)[0].startswith("550")
    assert send(postfix, other, 1)[0].startswith("550")


def cleaned_it_begins_anew(gate: Gate, postfix: Postfix) -> None:
    login = "stolen@example.test"
    dry = gate.oborona.run("outgoing", "reset", login, "--dry-run")
    assert "recipients" in dry.stdout
    assert send(postfix, login)[0].startswith("550")
    done = gate.oborona.run("outgoing", "reset", "Stolen@example.test")
    assert "taken back" in done.stdout, done.stderr
    eventually(lambda: send(postfix, login)[-1].startswith("250"))
    nobody = gate.oborona.run("outgoing", "reset", "nobody@example.test")
    assert (nobody.returncode, nobody.stdout) == (1, "")
    assert "sent nothing" in nobody.stderr


def test_mail_beyond_a_limit_is_held_and_the_log_says_why(gate: Gate, postfix: Postfix) -> None:
    assert send(postfix, "held@example.test")[-1].startswith("250")
    idents = []

    def held() -> bool:
        reply = send(postfix, "held@example.test")[-1]
        assert reply.startswith("250")
        idents.append(reply.rsplit(" ", 1)[-1])
        return queue(postfix)[idents[-1]] == "hold"

    eventually(held)
    eventually(lambda: idents[-1] in {one["queue"] for one in gate.events("verdict")})
    (verdict,) = (one for one in gate.events("verdict") if one["queue"] == idents[-1])
    assert (verdict["verdict"], verdict["outcome"]) == ("accept", "hold")
    told_of = [one for one in gate.events("limit") if one["id"] == verdict["id"]]
    assert [(one["limit"], one["done"]) for one in told_of] == [("HELD", "hold")]
    explained = gate.oborona.run("explain", str(verdict["id"]))
    assert "HELD" in explained.stdout, explained.stdout + explained.stderr


@pytest.fixture
def inside(gate: Gate) -> Iterator[None]:
    """Mailboxes of ours are named: until recipients are known, no limit says anything."""
    gate.policy(POLICY + '[outgoing]\ninside = ["example.test"]\n')
    yield
    gate.policy(POLICY)


@pytest.mark.usefixtures("inside")
def test_a_client_is_put_off_and_a_program_of_the_machine_is_not(
    gate: Gate, postfix: Postfix
) -> None:
    """A message of `sendmail` that is put off is tried again by pickup, at once and for ever."""
    login = "put-off@example.test"
    assert send(postfix, login, ip="192.0.2.33")[-1].startswith("250")
    eventually(lambda: send(postfix, login, ip="192.0.2.33")[-1].startswith("451"))
    for _ in range(8):
        subprocess.run(
            [
                *("/usr/sbin/sendmail", "-C", f"{postfix.folder}/etc", "-if", "web@example.test"),
                "bo@b.example",
            ],
            input=LETTER.replace(b"\r\n", b"\n"),
            check=True,
            capture_output=True,
            timeout=20,
            env=dict(os.environ) | {"MAIL_CONFIG": f"{postfix.folder}/etc"},
        )

    def of_program() -> list[str]:
        events = [one for one in gate.events("verdict") if one["sender"] == "web@example.test"]
        return [str(one["outcome"]) for one in events if "outcome" in one]

    eventually(lambda: len(of_program()) >= 8)
    assert len(of_program()) == 8  # each once
    assert set(of_program()) <= {"accept", "hold"}
    assert "hold" in of_program()


def test_new_recipients_alone_use_up_a_limit_on_them(gate: Gate, postfix: Postfix) -> None:
    login = "new@example.test"
    for _ in range(3):  # always the same three
        assert send(postfix, login, 3)[-1].startswith("250")
        time.sleep(1.0)  # the other workers know them
    replies = send(postfix, login, 4)
    assert replies[-1].startswith("550")
    assert "Too many new recipients of this account" in replies[-1]
    replies = send(postfix, login, 4)  # the same list, which nobody is new of any more
    assert "Too many new recipients" in replies[-1]
    eventually(lambda: send(postfix, login)[0].startswith("550"))  # at MAIL FROM


def test_accounts_of_a_customer_share_a_limit_once_a_source_has_told_of_them(
    gate: Gate, postfix: Postfix
) -> None:
    logins = "one@example.test", "two@example.test"
    assert send(postfix, logins[0], 9)[-1].startswith("250")  # nobody's yet
    with AccountStore(gate.oborona.state / state_files.ACCOUNTS) as store:
        store.put(
            [
                AccountRecord(id=login, logins=(login,), customer=Customer(id="firm"))
                for login in logins
            ],
            by="test",
            now=time.time(),
        )
    time.sleep(1.0)  # all workers know within half a second
    assert send(postfix, logins[0], 2)[-1].startswith("250")
    time.sleep(1.0)
    replies = send(postfix, logins[1], 2)
    assert replies[-1].startswith("550")
    assert "Too many recipients of this customer" in replies[-1]
    with AccountStore(gate.oborona.state / state_files.ACCOUNTS) as store:
        for login in logins:
            trust = Trust(by="test", at=time.time(), until=0.0, why="talked to them")
            store.trust(login, trust)
    time.sleep(1.0)
    assert send(postfix, logins[1], 2)[-1].startswith("250")


def test_a_limit_in_shadow_is_counted_and_explained(gate: Gate, postfix: Postfix) -> None:
    assert send(postfix, "tried@example.test", 5)[-1].startswith("250")
    line = 'oborona_limits_total{limit="TRIED",mode="shadow",then="refuse"'
    eventually(lambda: line in gate.oborona.run("metrics").stdout, 30.0, every_s=1.0)
    eventually(lambda: replayed(gate)["TRIED"]["senders"] == {"tried@example.test": 1})
