"""Golden mails: the same verdict, score and reason by the command line and through each transport behind a real Postfix.

tests/golden/mails/NN-slug.eml is the mail, NN-slug.readme what it is, NN-slug.want.json what must come of it, NN-slug.dns (TOML: name, kind,
record) what the DNS says about it, if that matters; all mails see one DNS. The policy is the one that ships, and tests/golden/policy.d after it. Mails of your own, which are
nobody else's business, go into tests/golden/private/ in the same form; git does not see them.
"""

from __future__ import annotations

import json
import re
import shutil
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oborona.cli import main
from tests.peers.dns import Zones
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix

GOLDEN = Path(__file__).parents[1] / "golden"
MAILS = sorted([*GOLDEN.glob("mails/*.eml"), *GOLDEN.glob("private/*.eml")])
SENDER, CLIENT = "ann@a.example", {"ADDR": "192.0.2.7", "NAME": "mail.a.example"}
each_mail = pytest.mark.parametrize("mail", MAILS, ids=lambda mail: mail.stem)


def want(mail: Path) -> dict[str, Any]:
    wanted: dict[str, Any] = json.loads(mail.with_suffix(".want.json").read_text())
    return wanted


@pytest.fixture(scope="module")
def dns() -> Iterator[Zones]:
    with Zones() as running:
        for mail in MAILS:
            if mail.with_suffix(".dns").exists():
                running.add(tomllib.loads(mail.with_suffix(".dns").read_text()))
        yield running


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    for source in (SETTINGS.parent / "policy.d", GOLDEN / "policy.d"):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module", params=["native", "libmilter"])
def door(request: pytest.FixtureRequest, dns: Zones, policy: Path) -> Iterator[tuple[Oborona, Postfix]]:
    settings = {
        "site.name": "mx.example.test",
        "doors.milter.transport": request.param,
        "worker.processes": 1,
        "dns.servers": dns.setting,
        "paths.policy": policy,
        "worker.deadline_s": 60,
        "reader.look_wait_s": 10,
        "reader.read_wait_s": 30,  # for a busy machine
    }
    with Oborona(settings) as oborona, Postfix(oborona.milter) as postfix:
        yield oborona, postfix


@each_mail
def test_by_the_command_line(mail: Path, tmp_path: Path, dns: Zones, policy: Path) -> None:
    words = [
        "--state",
        str(tmp_path),
        "--set",
        "site.name=mx.example.test",
        "--set",
        f"dns.servers={dns.setting}",
        "--set",
        f"paths.policy={policy}",
    ]
    words += ["check", "--json", str(mail)]
    if mail.with_suffix(".dns").exists():
        words += ["--dns", "--from", SENDER, "--ip", CLIENT["ADDR"], "--name", CLIENT["NAME"]]
    found = json.loads(CliRunner().invoke(main, words, catch_exceptions=False).stdout)
    rules = {rule["name"]: rule["score"] for rule in found["rules"]}
    findings = sorted(finding["name"] for finding in found["findings"])
    assert want(mail) == {
        "verdict": found["verdict"],
        "score": found["score"],
        "decided_by": found["decided_by"],
        "rules": rules,
        "findings": findings,
    }


@each_mail
def test_through_postfix(mail: Path, door: tuple[Oborona, Postfix]) -> None:
    oborona, postfix = door
    before = len(oborona.log())
    raw = mail.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    replies = postfix.send(raw, sender=SENDER, xclient=CLIENT)
    wanted = want(mail)
    assert replies[-1][:3] == ("550" if wanted["verdict"] == "reject" else "250")
    line = _line(oborona, before)
    logged = dict(re.findall(r"(verdict|score|decided_by)=(\S+)", line.partition("stage=")[2]))
    assert logged["verdict"] == wanted["verdict"]
    assert float(logged["score"]) == wanted["score"]
    assert logged["decided_by"] == wanted["decided_by"]
    assert all(rule in line for rule in wanted["rules"])


def _line(oborona: Oborona, before: int) -> str:
    """The one line of a message; it is written after the answer."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        lines = [line for line in oborona.log()[before:].splitlines(keepends=True) if "msg=verdict" in line]
        if lines and lines[-1].endswith("\n"):
            (only,) = lines
            return only
        time.sleep(0.01)
    raise TimeoutError("no line in the log")
