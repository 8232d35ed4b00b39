"""`oborona move-in`: shown, done once, and a second time without harm."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import ValidationError

from oborona.ident import JournalIdGenerator, to_text
from oborona.journal.evidence import VerdictEvidence
from oborona.journal.journal import JournalWriter
from oborona.policy.engines import EngineOpinion
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.types import Action, RuleHit, RuleMode
from tests.cli.journaled import LINKS, policy, run
from tests.desk.calling import call, octets_below, site_of
from tests.journal.entries import make_entry

LOCAL_CF = """
whitelist_from ann@partner.example
blacklist_from *@spam.example
required_score 7
header LOCAL_PILLS Subject =~ /cheap pills/i
score LOCAL_PILLS 9
header LOCAL_MAILER X-Mailer =~ /^The Bat/
use_bayes 1
"""
PREFS = "whitelist_from eve@c.example\nblacklist_from bad@c.example\nrequired_score 3.5\n"
MAIN = "move-in-spamassassin.toml"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "sa"
    (folder / "bob@b.example").mkdir(parents=True)
    (folder / "local.cf").write_text(LOCAL_CF)
    (folder / "bob@b.example" / "user_prefs").write_text(PREFS)
    return folder


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "state").mkdir()
    return tmp_path / "state", policy(tmp_path / "policy", LINKS)


def person(site: tuple[Path, Path]) -> tuple[float, set[tuple[str, str]]]:
    kept = json.loads(run(*site, "personal", "export", "bob@b.example").stdout)
    return kept["strictness"], {(one["side"], one["value"]) for one in kept["entries"]}


def test_it_is_shown_and_nothing_is_done(old: Path, site: tuple[Path, Path]) -> None:
    before = octets_below(site[1])
    told = run(*site, "move-in", "spamassassin", str(old), "--dry-run").stdout
    assert "list SPAMASSASSIN_WHITELIST_FROM: allow sender, from, 1 entry from local.cf" in told
    assert "when SPF or DKIM proves it" in told
    assert "rule SPAMASSASSIN_LOCAL_PILLS, on trial: 180 when matches(subject.raw" in told
    assert "bob@b.example: allow address eve@c.example, deny address bad@c.example, strictness 0.7" in told  # fmt: skip
    assert "[verdict] shadow_spam_score = 140, on trial" in told
    assert "local.cf:8: use_bayes 1" in told
    assert told.endswith("nothing was done: --dry-run\n")
    found = json.loads(
        run(*site, "move-in", "spamassassin", str(old), "--dry-run", "--json").stdout
    )
    assert found["lines"] == {"shadow_spam_score": 140.0}
    assert [line["from"] for line in found["left"]] == ["local.cf:8"]
    refused = run(*site, "move-in", "spamassassin", str(old), status=1)
    assert "--yes does it" in refused.stderr
    assert octets_below(site[1]) == before
    assert not (site[0] / "personal.db").exists()
    assert not (site[0] / "signatures.db").exists()


def test_it_is_done_once_and_a_second_run_does_no_harm(old: Path, site: tuple[Path, Path]) -> None:
    words = ("move-in", "spamassassin", str(old), "--yes")
    told = run(*site, *words, "--reason", "we come from SpamAssassin").stdout
    assert (
        f"written into the policy folder: {MAIN.removesuffix('.toml')}-blacklist-from.list" in told
    )
    assert "removing these files takes it back" in told
    assert "1 added, 0 were there; people whose own lists changed: 1" in told
    run(*site, "policy", "check")
    loaded = load_policy(site[1], SCHEMA)
    assert {rule.name: rule.mode for rule in loaded.rules} == {
        "LINKS": RuleMode.LIVE,
        "SPAMASSASSIN_LOCAL_PILLS": RuleMode.SHADOW,
    }
    assert (loaded.verdict.spam_score, loaded.verdict.shadow_spam_score) == (100, 140)
    signed = json.loads(run(*site, "signature", "list", "--json").stdout)
    assert signed["mode"] == "shadow"
    assert person(site) == (0.7, {("allow", "eve@c.example"), ("deny", "bad@c.example")})
    assert "we come from SpamAssassin" in run(*site, "policy", "history").stdout

    # what people have changed since stays as it is
    run(*site, "personal", "strict", "bob@b.example", "1.5")
    run(*site, "personal", "deny", "bob@b.example", "eve@c.example")
    main = site[1] / MAIN
    main.write_text(main.read_text().replace('mode = "shadow"', 'mode = "live"'))
    before = octets_below(site[1])
    again = run(*site, *words).stdout
    assert f"{main} is there and stays as it is" in again
    assert "0 added, 1 were there; people whose own lists changed: 0" in again
    assert octets_below(site[1]) == before
    assert person(site) == (1.5, {("deny", "eve@c.example"), ("deny", "bad@c.example")})
    main.unlink()
    (site[1] / "move-in-spamassassin-blacklist-from.list").write_text(
        "@spam.example\nmine.example\n"
    )
    assert MAIN in run(*site, *words).stdout
    kept = (site[1] / "move-in-spamassassin-blacklist-from.list").read_text()
    assert "mine.example" in kept, "what was put on a list since"


def test_a_rule_of_the_site_keeps_its_name(old: Path, site: tuple[Path, Path]) -> None:
    """A later file changes what an earlier one says of that name."""
    own = '[[rule]]\nname = "SPAMASSASSIN_LOCAL_PILLS"\nwhen = "links > 5"\nscore = 9\n'
    (site[1] / "90-own.toml").write_text(own)
    run(*site, "move-in", "spamassassin", str(old), "--yes")
    found = {rule.name: rule for rule in load_policy(site[1], SCHEMA).rules}
    assert found["SPAMASSASSIN_LOCAL_PILLS"].when == "links > 5"
    assert found["SPAMASSASSIN_LOCAL_PILLS"].mode is RuleMode.LIVE
    assert found["SPAMASSASSIN_LOCAL_PILLS_2"].mode is RuleMode.SHADOW


def test_a_policy_that_could_not_be_used_is_not_written(old: Path, site: tuple[Path, Path]) -> None:
    (site[1] / "90-own.toml").write_text('[[rule]]\nname = "SPAMASSASSIN_LOCAL_PILLS"\nmood = 1\n')
    run(*site, "move-in", "spamassassin", str(old), "--yes", status=78)
    assert not (site[1] / MAIN).exists()
    assert not (site[0] / "personal.db").exists()


def test_what_is_no_configuration_names_file_and_line(
    tmp_path: Path, site: tuple[Path, Path]
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "configdump.json").write_text('{"multimap": {},\n oops')
    told = run(*site, "move-in", "rspamd", str(tmp_path / "old"), "--dry-run", status=78).stderr
    assert "configdump.json:2" in told
    for program in ("rspamd", "mailcow", "amavis", "spamassassin"):
        status = 0 if program == "spamassassin" else 78
        (tmp_path / "empty").mkdir(exist_ok=True)
        run(*site, "move-in", program, str(tmp_path / "empty"), "--dry-run", status=status)


def test_halves_of_characters_are_shown_as_what_they_are(
    tmp_path: Path, site: tuple[Path, Path]
) -> None:
    (tmp_path / "old").mkdir()
    half = "\\ud800\\u001b[2J"
    rule = f'{{"type": "from", "action": "reject", "symbol": "{half}", "map": ["{half}", "a.example"]}}'
    dump = f'{{"multimap": {{"{half}": {rule}, "B": "{half}"}}, "settings": {{"{half}": {{}}}}}}'
    (tmp_path / "old" / "configdump.json").write_text(dump)
    (tmp_path / "old" / "\udcff\x1b.lua").write_text("")
    words = ("move-in", "rspamd", str(tmp_path / "old"))
    told = run(*site, *words, "--dry-run", "--all").stdout
    assert "\x1b" not in told
    assert json.loads(run(*site, *words, "--dry-run", "--json").stdout)["left"]
    run(*site, *words, "--yes")
    assert load_policy(site[1], SCHEMA).local_lists.lists


def rspamd(action: str, **more: Any) -> EngineOpinion:
    return EngineOpinion(engine="rspamd", action=action, score=7.5, line=15.0, **more)


def test_both_verdicts_are_compared(site: tuple[Path, Path]) -> None:
    state, folder = site
    numbers, now = JournalIdGenerator(), time.time() - 60
    hit = (RuleHit(name="LINKS", score=120.0, say="", mode=RuleMode.LIVE),)
    entries: list[dict[str, Any]] = [
        {"verdict": Action.ACCEPT, "score": 1.0, "kept": (rspamd("no action"),)},
        {"verdict": Action.ACCEPT, "score": 1.0, "kept": (rspamd("add header", symbols=("BAYES_SPAM",)),), "subject": "you\x1b[2J won"},
        {"verdict": Action.SPAM, "score": 120.0, "rules": hit, "kept": (rspamd("no action"),)},
        # what theirs made of it is not what ours says
        {"verdict": Action.REJECT, "score": 5.0, "decided_by": "ENGINE_RSPAMD", "kept": (rspamd("reject"),)},
        {"verdict": Action.TEMPFAIL, "kept": (rspamd("no action"),)},
        {"verdict": Action.ACCEPT, "kept": (EngineOpinion(engine="rspamd", unknown="timeout"),)},
        {"verdict": Action.ACCEPT, "kept": ()},
    ]  # fmt: skip
    idents = [numbers.next(now) for _ in entries]

    async def fill() -> None:
        async with await JournalWriter.open(state / "journal.db") as written:
            for ident, entry in zip(idents, entries, strict=True):
                kept = VerdictEvidence(engines=entry.pop("kept"))
                written.append(make_entry(id=ident, time=now, kept=kept, **{"rules": (), "decided_by": "", **entry}))  # fmt: skip

    asyncio.run(fill())
    found = json.loads(run(*site, "move-in", "compare", "--json").stdout)
    assert (found["messages"], found["unknown"], found["unasked"]) == (5, 1, 1)
    cells = {(cell["ours"], cell["theirs"]): cell for cell in found["cells"]}
    assert {pair: cell["messages"] for pair, cell in cells.items()} == {
        ("good", "good"): 1,
        ("good", "perhaps"): 1,
        ("good", "certain"): 1,
        ("perhaps", "good"): 1,
        ("put off", "good"): 1,
    }
    assert cells["good", "certain"]["examples"][0]["id"] == to_text(idents[3])
    assert cells["good", "perhaps"]["symbols"] == [["BAYES_SPAM", 1]]
    assert cells["perhaps", "good"]["rules"] == [["LINKS", 1]]
    assert cells["good", "good"]["examples"] == []
    (day,) = found["days"]
    assert (day["messages"], day["agree"], day["stricter"], day["milder"]) == (5, 1, 1, 2)
    desk = site_of(state, paths__policy=str(folder), paths__shipped_policy="none")
    asked = call(desk, "engines.compare", examples=5)
    assert (asked["cells"], asked["days"]) == (found["cells"], found["days"])
    with pytest.raises(ValidationError):
        call(desk, "engines.compare", engine="other")
    shown = run(*site, "move-in", "compare").stdout
    assert "ours good, rspamd perhaps: 1" in shown
    assert "\x1b" not in shown
    assert to_text(idents[1]) in shown
    nothing = run(*site, "move-in", "compare", "--engine", "spamd", status=1).stdout
    assert "[engines.spamd] asks it" in nothing
