"""The milter, the policy service, the doors for Exim and HTTP, and the proxy give the same client
the same words: envelopes of tests/golden, by wire and behind a real Postfix.
"""

from __future__ import annotations

import re
import shutil
import smtplib
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oborona.config.address import parse_address
from tests.peers.dns import Zones
from tests.peers.mail_server import MailServer
from tests.peers.oborona import Oborona
from tests.peers.policy_client import PolicyClient
from tests.peers.postfix import Postfix, available
from tests.peers.readsocket import extract, readsocket, request
from tests.whole.couriers import House, next_hop, post
from tests.whole.gate import eventually

GOLDEN = tomllib.loads((Path(__file__).parents[1] / "golden" / "envelopes.toml").read_text())
COMMON = {
    "ip": "192.0.2.7",
    "name": "mail.a.example",
    "helo": "mail.a.example",
    "sender": "ann@a.example",
    "recipients": ["joe@example.test"],
}
ENVELOPES: list[dict[str, Any]] = [COMMON | each for each in GOLDEN["envelope"]]
each_envelope = pytest.mark.parametrize(
    "envelope", ENVELOPES, ids=lambda envelope: envelope["about"]
)


class Doors:
    """One daemon with these doors open."""

    def __init__(self, oborona: Oborona, policy_service: str, house: House) -> None:
        self.oborona = oborona
        self.policy_service = policy_service
        self.exim = house.exim
        self.http = house.http
        self.proxy = house.proxy


@pytest.fixture(scope="module")
def doors() -> Iterator[Doors]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "policy.d").mkdir()
    (folder / "policy.d" / "10.toml").write_text(GOLDEN["policy"])
    policy_service = f"unix:{folder}/policy.sock"
    house = House(folder)
    settings = {name: value for name, value in house.settings.items() if "milter" not in name} | {
        "paths.policy": folder / "policy.d",
        "doors.policy_service.listen": policy_service,
        "doors.policy_service.socket_mode": "0666",
        "worker.processes": 1,
    }
    with Oborona(settings) as oborona, next_hop(house.next_hop):
        yield Doors(oborona, policy_service, house)
    shutil.rmtree(folder)


def by_milter(address: str, envelope: dict[str, Any]) -> list[str]:
    """Return what each recipient hears where Postfix asks a milter, "" where it may go on."""
    with MailServer(parse_address(address)) as server:
        answers = [
            server.connect(envelope["name"], envelope["ip"], 4711),
            server.helo(envelope["helo"]),
            server.mail(f"<{envelope['sender']}>"),
        ]
        refused = [words for words in map(_words, answers) if words]
        heard = [
            refused[0] if refused else _words(server.rcpt(f"<{recipient}>"))
            for recipient in envelope["recipients"]
        ]
        server.quit()
    return heard


def _words(answer: tuple[bytes, bytes] | None) -> str:
    if answer is None or answer[0] == b"c":
        return ""
    assert answer[0] == b"y"
    return answer[1].rstrip(b"\0").decode()


def by_policy_service(address: str, envelope: dict[str, Any]) -> list[str]:
    """Return the same where Postfix asks the policy service, at each recipient, as it does by
    default.
    """
    with PolicyClient(address) as postfix:
        actions = [
            postfix.ask(
                protocol_state="RCPT",
                client_address=envelope["ip"],
                client_name=envelope["name"],
                client_port="4711",
                helo_name=envelope["helo"],
                sender=_internal(envelope["sender"]),
                recipient=_internal(recipient),
                instance="1.2.3.0",
            )
            for recipient in envelope["recipients"]
        ]
    return [action.removeprefix("DUNNO") for action in actions]


def by_exim(address: str, envelope: dict[str, Any]) -> list[str]:
    """Return the same where Exim asks at each stage, and goes on where it may."""
    told: dict[str, str | bytes | int] = {
        "ip": envelope["ip"],
        "port": 4711,
        "name": envelope["name"].encode(),
    }
    stages: list[tuple[str, dict[str, str | bytes | int]]] = [
        ("connect", {}),
        ("helo", {"helo": envelope["helo"].encode()}),
        ("mail", {"from": envelope["sender"].encode()}),
    ]
    after, refused = "", ""
    for word, new in stages:
        told |= new
        refused = refused or _ask_exim(address, word, told | {"after": after})
        after = word
    heard: list[str] = []
    for recipient in envelope["recipients"]:
        asked = told | {"rcpt": recipient.encode(), "count": heard.count(""), "after": after}
        heard.append(refused or _ask_exim(address, "rcpt", asked))
    return heard


def by_exim_at_recipients(address: str, envelope: dict[str, Any]) -> list[str]:
    """Return the same where Exim asks at recipients alone."""
    told = {
        "ip": envelope["ip"],
        "name": envelope["name"].encode(),
        "helo": envelope["helo"].encode(),
    }
    told |= {"from": envelope["sender"].encode()}
    heard: list[str] = []
    for recipient in envelope["recipients"]:
        heard.append(
            _ask_exim(
                address, "rcpt", told | {"rcpt": recipient.encode(), "count": heard.count("")}
            )
        )
    return heard


def _ask_exim(address: str, word: str, said: dict[str, Any]) -> str:
    line = readsocket(address, request(word, **said))
    if extract("verdict", line) == "accept":
        return ""
    assert extract("verdict", line) == "reject", line
    return f"{extract('code', line)} {extract('text', line)}"


def by_http(place: tuple[str, int], envelope: dict[str, Any]) -> list[str]:
    """Return the same where a program asks for a glance at each recipient."""
    heard: list[str] = []
    for recipient in envelope["recipients"]:
        accepted = [
            one for one, said in zip(envelope["recipients"], heard, strict=False) if not said
        ]
        asked = {
            "stage": "recipient",
            "client": {"ip": envelope["ip"], "name": envelope["name"], "port": 4711},
            "helo": envelope["helo"],
            "sender": envelope["sender"],
            "recipients": [*accepted, recipient],
        }
        told = post(place, "/v1/glance", asked)
        smtp = told["smtp"]
        heard.append(f"{smtp['code']} {smtp['enhanced']} {smtp['text']}" if smtp else "")
        assert (told["verdict"] == "reject") == bool(smtp)
    return heard


def by_proxy(place: tuple[str, int], envelope: dict[str, Any]) -> list[str]:
    """Return the same where the proxy stands before a mail server that has no filter."""
    with smtplib.SMTP(*place, local_hostname=envelope["helo"], timeout=60) as smtp:
        smtp.ehlo()
        address = f"IPV6:{envelope['ip']}" if ":" in envelope["ip"] else envelope["ip"]
        name = envelope["name"] or "[UNAVAILABLE]"
        code, text = smtp.docmd("XCLIENT", f"ADDR={address} NAME={name} PORT=4711")
        refused = None if code == 220 else (code, text)
        if refused is None:
            smtp.ehlo()
            refused = _mail(smtp, envelope["sender"])
        heard = []
        for recipient in envelope["recipients"]:
            code, text = refused or smtp.docmd("RCPT", f"TO:<{recipient}>")
            heard.append("" if code == 250 else f"{code} {text.decode()}")
    return heard


def _internal(address: str) -> str:
    """Return an address as the policy protocol has it: without the quotes and backslashes of
    SMTP.
    """
    local, at, domain = address.rpartition("@")
    if local.startswith('"'):
        local = re.sub(r"\\(.)", r"\1", local[1:-1])
    return local + at + domain


def without_reference(replies: list[str]) -> list[str]:
    """Return replies up to the reference, which each refusal has of its own."""
    assert all(re.search(r", reference [0-9A-Za-z]+$", reply) for reply in replies if reply), (
        replies
    )
    return [reply.partition(", reference ")[0] for reply in replies]


@each_envelope
def test_all_doors_say_the_same(envelope: dict[str, Any], doors: Doors) -> None:
    milter = without_reference(by_milter(doors.oborona.milter, envelope))
    assert milter == envelope["want"]
    assert without_reference(by_policy_service(doors.policy_service, envelope)) == milter
    assert without_reference(by_exim(doors.exim, envelope)) == milter
    assert without_reference(by_exim_at_recipients(doors.exim, envelope)) == milter
    assert without_reference(by_http(doors.http, envelope)) == milter
    assert without_reference(by_proxy(doors.proxy, envelope)) == milter


def test_the_policy_service_asks_nothing_for_a_message_that_it_will_not_see(tmp_path: Path) -> None:
    policy = tmp_path / "policy.d"
    policy.mkdir()
    (policy / "10.toml").write_text('[repip]\nbad = "none"\n')  # no stage decides anything
    address = f"unix:{tmp_path}/policy.sock"
    client = COMMON | {"ip": "9.2.0.7", "name": ""}
    with Zones() as zones:
        settings = {
            "paths.policy": policy,
            "doors.policy_service.listen": address,
            "worker.processes": 1,
            "dns.servers": zones.setting,
        }
        with Oborona(settings) as oborona:
            assert by_policy_service(address, client) == [""]
            # what the first one began would be seen by now
            assert by_policy_service(address, client) == [""]
            assert zones.asked == []
            assert by_milter(oborona.milter, client) == [""]
            eventually(lambda: zones.count("7.0.2.9.in-addr.arpa") > 0)


@pytest.fixture(scope="module", params=["milter", "policy service", "policy service, at once"])
def postfix(request: pytest.FixtureRequest, doors: Doors) -> Iterator[Postfix]:
    """A Postfix that asks one of the doors."""
    if not available():
        pytest.skip("needs Postfix and root")
    ask = f"check_policy_service {{ {doors.policy_service}, timeout=10s, default_action=DEFER }}"
    main = {"smtputf8_enable": "yes"}
    if request.param == "milter":
        main["smtpd_milters"] = doors.oborona.milter
    else:
        stages = ["helo", "sender", "data", "end_of_data"]
        if request.param == "policy service, at once":
            main["smtpd_delay_reject"] = "no"
        else:  # at once, a client would be refused at XCLIENT already
            stages.append("client")
        main |= {f"smtpd_{stage}_restrictions": ask for stage in stages}
        main["smtpd_recipient_restrictions"] = f"reject_unauth_destination, {ask}"
    with Postfix(main=main) as postfix:
        yield postfix


@each_envelope
def test_behind_postfix_the_client_hears_the_same(
    envelope: dict[str, Any], postfix: Postfix
) -> None:
    ip = envelope["ip"]
    xclient = {"ADDR": f"IPV6:{ip}" if ":" in ip else ip, "NAME": envelope["name"]}
    heard = []
    with postfix.connect(xclient, envelope["helo"]) as smtp:
        refused = _mail(smtp, envelope["sender"])
        for recipient in envelope["recipients"]:
            code, text = refused or smtp.docmd("RCPT", f"TO:<{recipient}>")
            heard.append("" if code == 250 else f"{code} {text.decode()}")
        if "" in heard:
            assert smtp.data(b"Subject: x\r\n\r\nhello\r\n")[0] == 250
    # Postfix says before a policy service's words whom it has refused
    heard = [re.sub(r"^(... \S+ )<.*>: .* rejected: ", r"\1", reply) for reply in heard]
    assert without_reference(heard) == envelope["want"]


def _mail(smtp: smtplib.SMTP, sender: str) -> tuple[int, bytes] | None:
    """Begin a message; return the refusal, if it comes before the first recipient."""
    if not sender.isascii():
        smtp.command_encoding = "utf-8"
    reply = smtp.docmd("MAIL", f"FROM:<{sender}>{'' if sender.isascii() else ' SMTPUTF8'}")
    return None if reply[0] == 250 else reply
