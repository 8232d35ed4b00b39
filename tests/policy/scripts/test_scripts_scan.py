"""Scripts in whole scans and at the stages before the content, beside everything else that
judges.
"""

from collections.abc import Mapping
from pathlib import Path

from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import Hasher
from oborona.policy.envelope_stages import check_envelope
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Action, Client, Envelope, Finding, Stage

NOW = 1_795_170_000.0
ENVELOPE = Envelope(
    client=Client(ip="9.10.11.12", name="mail.a.example"), helo="mail.a.example", sender="ann@a.example", recipients=("bob@b.example",)
)  # fmt: skip
LETTER = (
    b"From: Ann <ann@a.example>\r\nSubject: Free beer at noon\r\nDate: Fri, 20 Nov 2026 10:00:00 "
    b"+0000\r\nMessage-ID: <1@a.example>\r\n\r\n"
    b"See https://one.example/ and https://two.example/ \r\n"
)
CHECK = """\
oborona.check {
    name = "free-beer",
    run = function()
        local drink = capture(facts.subject, "free (beer|wine)")
        return drink and "the drink is " .. drink
    end,
}
"""
RULE = """\
local LINKS = 4
oborona.rule {
    name = "LUA_LINKS", score = 120, say = "links",
    when = function()
        if found("free-beer") then return #facts.links.hosts / LINKS, table.concat({facts.links.hosts[1], facts.links.hosts[2]}, " ") end
    end,
}
"""
TOML = """\
[verdict]
spam_score = 60
reject_score = 300

[[rule]]
name = "AFTER"
when = "fired(LUA_LINKS) and found('free-beer')"
score = 1
"""


def policy(folder: Path, files: Mapping[str, str]) -> Policy:
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_policy(folder, SCHEMA)


def site() -> ScanSite:
    return ScanSite(name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())


async def scanned(found: Policy, raw: bytes = LETTER) -> Scan:
    return await scan(raw, ENVELOPE, site(), found, NoInquiry(), now=NOW)


async def test_a_script_decides_and_says_why(tmp_path: Path) -> None:
    found = await scanned(policy(tmp_path, {"10.toml": TOML, "60.lua": CHECK, "61.lua": RULE}))
    assert (found.verdict.action, found.verdict.score, found.verdict.decided_by) == (
        Action.SPAM,
        61,
        "LUA_LINKS",
    )
    assert [(hit.name, hit.score, hit.say) for hit in found.verdict.rules] == [
        ("LUA_LINKS", 60, "links: one.example two.example"),
        ("AFTER", 1, ""),
    ]
    assert Finding("free-beer", "the drink is beer") in found.verdict.findings
    assert "free-beer" in found.facts.findings
    assert not found.failed


async def test_a_broken_script_stops_neither_mail_nor_rules(tmp_path: Path) -> None:
    bad = (
        'oborona.rule { name = "BAD", score = 500, when = function() if facts.subject ~= "" '
        "then while true do end end end }\n"
    )
    found = await scanned(
        policy(tmp_path, {"10.toml": TOML, "59.lua": bad, "60.lua": CHECK, "61.lua": RULE})
    )
    assert (found.verdict.action, found.verdict.score) == (Action.SPAM, 61)
    assert Finding("script-failed", "59.lua:1") in found.verdict.findings
    assert found.failed == (f"script {tmp_path / '59.lua'}:1: BAD: takes too many steps",)


async def test_rules_may_ask_whether_a_script_failed(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "OOPS"\nwhen = "found(\'script-failed\')"\nscore = 5\n'
    bad = (
        'oborona.check { name = "bad-one", run = function() return facts.subject ~= "" and '
        'error("no") end }\n'
    )
    found = await scanned(policy(tmp_path, {"10.toml": rule, "59.lua": bad}))
    assert [hit.name for hit in found.verdict.rules] == ["OOPS"]


async def test_a_client_is_refused_by_a_script(tmp_path: Path) -> None:
    rule = """\
oborona.rule {
    name = "LUA_CLIENT", score = 250, stage = "connect", say = "dynamic",
    when = function() return matches(facts.client.name, "^mail\\\\.") and not facts.client.own, facts.client.name end,
}
"""
    found = policy(tmp_path, {"10.toml": "[verdict]\nreject_score = 200\n", "60.lua": rule})
    early = await check_envelope(
        Envelope(client=ENVELOPE.client), Stage.CONNECT, site(), found, NoInquiry(), now=NOW
    )
    assert (early.verdict.action, early.verdict.decided_by) == (Action.REJECT, "LUA_CLIENT")
    assert early.verdict.rules[0].say == "dynamic: mail.a.example"
    assert not early.faults
    assert (await scanned(found)).verdict.action is Action.REJECT


async def test_a_script_that_fails_before_the_content_lets_the_client_in(tmp_path: Path) -> None:
    rule = (
        'oborona.rule { name = "X", score = 250, stage = "connect", when = function() return '
        'facts.client.ip ~= "" and error("no") end }\n'
    )
    found = policy(tmp_path, {"10.toml": "[verdict]\nreject_score = 200\n", "60.lua": rule})
    early = await check_envelope(
        Envelope(client=ENVELOPE.client), Stage.CONNECT, site(), found, NoInquiry(), now=NOW
    )
    assert early.verdict.action is Action.ACCEPT
    assert early.faults == (f"script {tmp_path / '60.lua'}:1: X: no",)
    assert [finding.name for finding in early.verdict.findings] == ["script-failed"]


async def test_scripts_of_two_policies_live_side_by_side(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    first = policy(one, {"10.toml": TOML, "60.lua": CHECK, "61.lua": RULE})
    second = policy(
        other, {"10.toml": TOML, "60.lua": CHECK, "61.lua": RULE.replace("120", "-120")}
    )
    scores = [(await scanned(each)).verdict.score for each in (first, second, first, second)]
    assert scores == [61, -59, 61, -59]


async def test_a_group_holds_for_rules_of_scripts(tmp_path: Path) -> None:
    groups = '[[group]]\nname = "LINKS"\ncap = 10\n'
    rule = RULE.replace('say = "links"', 'say = "links", group = "LINKS"')
    found = await scanned(
        policy(tmp_path, {"10.toml": TOML + groups, "60.lua": CHECK, "61.lua": rule})
    )
    assert found.verdict.score == 11
