"""`oborona auth`, and `--dns` of other commands: every step of an inquiry, on a DNS server of the
test's own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from authres import AuthenticationResultsHeader
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from oborona.cli import main
from tests.authentication.signing import AAR, LETTER, dkim_field, rsa, sealed
from tests.peers.dns import Fault, Zones
from tests.policy.models.final.made import leave_to_rules

IP = "9.10.11.12"
SIGNED = dkim_field(LETTER, rsa()) + LETTER
SENDER = ("--ip", IP, "--helo", "mail.example.org", "--from", "anna@example.org")
LIST = '[[dns_list]]\nname = "LISTED"\nzone = "list.test"\nof = ["client"]\nscore = 60\n'
Run = Callable[..., Result]


@pytest.fixture
def world(zones: Zones) -> Zones:
    zones.add(
        {
            "12.11.10.9.in-addr.arpa": {"PTR": "mail.example.org."},
            "mail.example.org": {"A": IP, "TXT": "v=spf1 a -all"},
            "example.org": {
                "TXT": [f"v=spf1 ip4:{IP} -all", "unrelated=1"],
                "MX": "10 mail.example.org.",
            },
            "s1._domainkey.example.org": {"TXT": rsa().record},
            "_dmarc.example.org": {"TXT": "v=DMARC1; p=reject"},
            "2.0.0.127.list.test": {"A": "127.0.0.2"},
            "12.11.10.9.list.test": {"A": "127.0.0.4"},
        }
    )
    return zones


@pytest.fixture
def run(tmp_path: Path, world: Zones) -> Run:
    """Run a command on the test's DNS, with the message files `letter` and `signed` at hand."""
    (tmp_path / "letter").write_bytes(LETTER)
    (tmp_path / "signed").write_bytes(SIGNED)

    def invoke(
        command: str, *words: object, data: bytes | None = None, **settings: object
    ) -> Result:
        sets = {"dns.servers": world.setting, "site.name": "mx.example"} | {
            name.replace("__", ".", 1): value for name, value in settings.items()
        }
        if "paths__policy" in settings:
            sets["paths.shipped_policy"] = "none"
        line = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
        line += ["--state", str(tmp_path / "state"), command, *map(str, words)]
        return CliRunner().invoke(main, line, input=data, catch_exceptions=False)

    return invoke


def blocks(told: str) -> dict[str, str]:
    """Split what was printed into the parts of the methods."""
    parts: dict[str, str] = {}
    name = ""
    for line in told.splitlines():
        if line and not line.startswith(" "):
            name = line.partition(":")[0]
        parts[name] = parts.get(name, "") + line + "\n"
    return parts


def test_every_question_record_and_result_is_shown_with_its_reason(
    run: Run, tmp_path: Path
) -> None:
    told = run("auth", tmp_path / "signed", *SENDER)
    assert told.exit_code == 0, told.stderr
    part = blocks(told.stdout)
    wanted = {
        "iprev": ("? PTR  12.11.10.9.in-addr.arpa", "mail.example.org", "? A    mail.example.org", f"  {IP}", "pass: mail.example.org"),
        "SPF of HELO": ("? TXT  mail.example.org", "v=spf1 a -all", "pass: a"),
        "SPF of MAIL FROM": ("? TXT  example.org", f"v=spf1 ip4:{IP} -all", "unrelated=1", f"pass: example.org ip4:{IP}"),
        "DKIM": ("? TXT  s1._domainkey.example.org", "v=DKIM1; k=rsa; p=", "pass: d=example.org s=s1, rsa-sha256, key of 1024 bits"),
        "ARC": ("none",),
        "DMARC": ("From's domain (example.org)", "? TXT  _dmarc.example.org", "v=DMARC1; p=reject", "pass: organisation example.org, policy reject, aligned by SPF and DKIM"),
    }  # fmt: skip
    for method, words in wanted.items():
        for word in words:
            assert word in part[method], (method, word)
        assert " ms)" in part[method] or method == "ARC"
    read = AuthenticationResultsHeader.parse(told.stdout.splitlines()[-1])
    assert read.authserv_id == "mx.example"
    assert [(one.method, one.result) for one in read.results] == [
        ("spf", "pass"),
        ("spf", "pass"),
        ("dkim", "pass"),
        ("dmarc", "pass"),
        ("iprev", "pass"),
    ]


def test_without_the_clients_address_the_message_alone_is_looked_at(
    run: Run, tmp_path: Path, world: Zones
) -> None:
    told = run("auth", tmp_path / "signed", "--from", "anna@example.org")
    assert told.exit_code == 0
    assert "SPF, iprev: not asked" in told.stdout
    assert "pass: d=example.org" in told.stdout
    assert "aligned by DKIM" in told.stdout
    assert {one.kind for one in world.asked} == {"TXT"}
    assert world.count("example.org") == 0


def test_standard_input_and_each_message_of_an_mbox(run: Run, tmp_path: Path) -> None:
    told = run("auth", "-", data=SIGNED)
    assert told.stdout.splitlines()[0] == "-"
    assert "pass: d=example.org" in told.stdout
    line = b"From anna@example.org  Thu Aug 22 12:36:23 2002\n"
    box = tmp_path / "box"
    box.write_bytes(
        line + LETTER.replace(b"\r\n", b"\n") + b"\n" + line + SIGNED.replace(b"\r\n", b"\n")
    )
    told = run("auth", box)
    names = [
        place for place, text in enumerate(told.stdout.splitlines()) if text.startswith(str(box))
    ]
    first, second = (told.stdout.splitlines()[start:] for start in names)
    assert (first[0], second[0]) == (f"{box}#1", f"{box}#2")
    assert "  none: no signature" in first[: names[1] - names[0]]
    assert any("pass: d=example.org" in text for text in second)


def test_what_the_domain_does_not_allow_is_told_in_its_words(
    run: Run, tmp_path: Path, world: Zones
) -> None:
    world.add(
        {
            "example.org": {"TXT": "v=spf1 -all exp=why.example.org"},
            "why.example.org": {"TXT": "go away, %{i}"},
        }
    )
    told = run("auth", tmp_path / "letter", *SENDER)
    part = blocks(told.stdout)
    assert f"fail: example.org go away, {IP}" in part["SPF of MAIL FROM"]
    assert "none: no signature" in part["DKIM"]
    assert (
        "fail: organisation example.org, policy reject, nothing aligned, it asks for reject"
    ) in part["DMARC"]


def test_many_signatures_and_their_limit(run: Run, tmp_path: Path) -> None:
    raw = LETTER
    for _ in range(11):
        raw = dkim_field(raw, rsa(), length=10) + raw
    told = run("auth", "-", data=raw)
    part = blocks(told.stdout)["DKIM"]
    assert part.count("pass: d=example.org") == 8
    assert "octets behind are not signed" in part
    assert "3 more signatures are not looked at (max_signatures = 8)" in part


def test_a_trusted_forwarder_overrules_the_domain(run: Run, tmp_path: Path, world: Zones) -> None:
    policy = tmp_path / "policy.d"
    policy.mkdir()
    (policy / "10.toml").write_text('[authentication]\ntrusted_sealers = ["example.org"]\n')
    world.add({"s1._domainkey.example.org": {"TXT": rsa().record}})
    now = str(int(time.time()) - 60)
    raw = sealed(LETTER, results=AAR, seal={"t": now})
    told = run(
        "auth",
        "-",
        "--ip",
        "203.0.114.9",
        "--from",
        "x@elsewhere.test",
        data=raw,
        paths__policy=policy,
    )
    part = blocks(told.stdout)
    assert "pass: 1 sets, sealed by example.org, example.org is trusted" in part["ARC"]
    assert "  overruled: example.org is trusted, and saw DMARC pass" in part["DMARC"]
    (policy / "10.toml").write_text("[authentication]\ntrusted_sealers = []\n")
    told = run("auth", "-", "--ip", "203.0.114.9", data=raw, paths__policy=policy)
    assert "none of them is trusted" in told.stdout
    assert "overruled" not in told.stdout


@pytest.mark.parametrize(
    ("fault", "why"),
    [(Fault.SERVFAIL, "servfail"), (Fault.REFUSED, "refused"), (Fault.HANG, "timeout")],
)
def test_a_dns_that_fails_is_told_step_by_step(
    run: Run, tmp_path: Path, world: Zones, fault: Fault, why: str
) -> None:
    world.fault("*", fault)
    told = run("auth", tmp_path / "signed", *SENDER, dns__timeout_s=0.1)
    assert told.exit_code == 0
    part = blocks(told.stdout)
    for method in ("iprev", "SPF of HELO", "SPF of MAIL FROM", "DKIM", "DMARC"):
        assert f"      temperror {why}" in part[method], method
        assert "\n  temperror" in part[method], method


def test_a_budget_that_is_used_up_is_told(run: Run, tmp_path: Path) -> None:
    told = run("auth", tmp_path / "signed", *SENDER, dns__message_questions=2)
    assert "temperror budget" in told.stdout
    assert "pass: mail.example.org" in blocks(told.stdout)["iprev"], "the first two questions"


def test_exit_status(run: Run, tmp_path: Path) -> None:
    assert run("auth", tmp_path / "missing").exit_code == os.EX_NOINPUT
    assert run("auth", tmp_path / "letter", "--ip", "nowhere").exit_code == 2
    assert run("auth", tmp_path / "letter", "--from", "a\x1bb").exit_code == 2
    assert run("auth", tmp_path / "letter", dns__servers="nowhere").exit_code == os.EX_CONFIG
    (tmp_path / "none").mkdir()
    assert (
        run("auth", tmp_path / "letter", paths__policy=tmp_path / "letter").exit_code
        == os.EX_CONFIG
    )


HOSTILE = b"\x1b]0;owned\x07\x1b[31m\r\n\x00\x9b2J\xe2\x80\xae\xff"


def test_hostile_records_and_messages_move_no_cursor(run: Run, world: Zones) -> None:
    name = "\\027[31m.evil.test"
    world.add(
        {
            "12.11.10.9.in-addr.arpa": {"PTR": f"{name}."},
            "example.org": {"TXT": [b"v=spf1 " + HOSTILE + b" -all", HOSTILE * 100]},
            "mail.example.org": {"TXT": b"v=spf1 exp=why.test -all"},
            "why.test": {"TXT": HOSTILE},
            "s1._domainkey.example.org": {"TXT": b"v=DKIM1; n=" + HOSTILE + b"; p="},
            "_dmarc.example.org": {"TXT": b"v=DMARC1; p=" + HOSTILE},
        }
    )
    head = (
        b"DKIM-Signature: v=1; d=ev\x1b[31mil.test; s=\x1b]0;x\x07; a=\x1b; b="
        + HOSTILE.replace(b"\r\n", b"")
    )
    raw = (
        head
        + (
            b"\r\nARC-Seal: i=1; d=\x1b[1m; cv=\x1b\r\nFrom: \x1b <a@\x1b[31m.test>, "
            b"<b@exa\x07mple.org>\r\n"
        )
        + SIGNED
    )
    told = run(
        "auth",
        "-",
        "--ip",
        IP,
        "--helo",
        "mail.example.org\x1b[31m",
        "--from",
        "anna@example.org",
        data=raw,
    )
    assert told.exit_code == 0
    assert len(told.stdout.splitlines()) > 20
    assert unprintable(told.stdout) == []


def unprintable(told: str) -> list[str]:
    return [line for line in told.split("\n") if not line.isprintable()]


@given(
    raw=st.binary(max_size=400).map(lambda noise: noise + SIGNED) | st.binary(max_size=600),
    record=st.binary(min_size=1, max_size=200),
    version=st.sampled_from([b"", b"v=spf1 ", b"v=DKIM1; p=", b"v=DMARC1; p="]),
)
@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_comes_it_is_told_in_printable_lines(
    run: Run, world: Zones, raw: bytes, record: bytes, version: bytes
) -> None:
    """Any message, any record: exit status 0, the header at the end, and no line with anything that
    does not print.
    """
    said = {"TXT": version + record}
    world.add(
        dict.fromkeys(["example.org", "s1._domainkey.example.org", "_dmarc.example.org"], said)
    )
    told = run("auth", "-", *SENDER, data=raw)
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1].startswith("Authentication-Results: mx.example; spf=")
    assert unprintable(told.stdout) == []


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "10.toml").write_text(
        LIST
        + (
            '[[rule]]\nname = "PROVED"\nwhen = "dmarc.result == \'pass\'"\nscore = -5\nsay = '
            '"{spf.domain}"\n'
        )
    )
    return folder


def test_check_asks_the_dns_when_it_is_told_to(
    run: Run, tmp_path: Path, world: Zones, listed: Path
) -> None:
    leave_to_rules(tmp_path / "state")

    def rules(*words: object, **settings: object) -> dict[str, float]:
        told = run(
            "check",
            "--json",
            tmp_path / "signed",
            *SENDER,
            *words,
            paths__policy=listed,
            **settings,
        )
        assert told.exit_code == 0, told.stderr
        found = json.loads(told.stdout)["rules"]
        return {one["name"]: one["score"] for one in found}

    assert rules() == {}
    assert world.asked == []
    assert rules("--dns") == {"LISTED": 60, "PROVED": -5}
    assert world.count("2.0.0.127.list.test") == 1, "it was probed before it was believed"
    world.asked.clear()
    assert rules("--dns", "--login", "anna") == {}
    assert rules("--dns", site__networks="9.10.0.0/16") == {}
    assert not [one.name for one in world.asked if one.name.endswith("9.list.test")], (
        "our own people"
    )
    world.fault("*.list.test", Fault.SERVFAIL)
    assert rules("--dns") == {"PROVED": -5}


def test_check_names_who_did_not_answer(
    run: Run, tmp_path: Path, world: Zones, listed: Path
) -> None:
    leave_to_rules(tmp_path / "state")
    world.fault("*", Fault.SERVFAIL)
    told = run("check", "--dns", tmp_path / "signed", *SENDER, paths__policy=listed)
    assert told.exit_code == 0
    assert "found temperror spf, dkim, dmarc, iprev" in told.stdout
    assert "accept 0.0 / 100" in told.stdout


def test_explain_shows_what_was_learned(
    run: Run, tmp_path: Path, world: Zones, listed: Path
) -> None:
    told = run("explain", "-v", tmp_path / "signed", *SENDER, paths__policy=listed)
    assert world.asked == []
    assert "│ pass " not in told.stdout
    told = run("explain", "-v", "--dns", tmp_path / "signed", *SENDER, paths__policy=listed)
    assert told.exit_code == 0, told.stderr
    facts = {line.split("│")[1].strip(): line for line in told.stdout.splitlines() if "│" in line}
    for fact, value in (
        ("lists.client", "LISTED"),
        ("spf.result", "pass"),
        ("spf.domain", "example.org"),
        ("dkim.domains", "example.org"),
        ("dmarc.policy", "reject"),
        ("iprev.result", "pass"),
    ):
        assert value in facts[fact], fact
    assert "LISTED" in told.stdout
    own = run(
        "explain",
        "-v",
        "--dns",
        tmp_path / "signed",
        *SENDER,
        paths__policy=listed,
        site__networks="9.10.11.12",
    )
    assert "client.own" in own.stdout
    assert "LISTED" not in own.stdout
