"""What real configurations become: those of the programs that are installed here, with what an
admin adds to them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram
from oborona.desk.move_in.programs import read_plan
from oborona.errors import ConfigError
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

SPAMASSASSIN = Path("/usr/share/spamassassin")


def whys(plan: MovePlan) -> dict[str, str]:
    """Return why each place is left, by its words."""
    return {line.what: line.why for line in plan.left}


def lists(
    plan: MovePlan,
) -> dict[str, tuple[ListAction, tuple[ListSubject, ...], RuleMode, list[str]]]:
    return {
        planned.name: (planned.action, planned.of, planned.mode, list(planned.entries))
        for planned in plan.lists
        if planned.entries
    }


def of_person(plan: MovePlan, address: str) -> set[tuple[str, str, str]]:
    return {(one.side, one.kind, one.value) for one in plan.persons[address].entries.values()}


LOCAL_D = {
    "multimap.conf": """
        SPAMMERS { type = "from"; map = "$LOCAL_CONFDIR/local.d/maps.d/spammers.map"; action = "reject"; }
        PARTNERS { type = "header"; header = "From"; filter = "email:domain"; score = -4;
                   map = "file://$LOCAL_CONFDIR/local.d/maps.d/partners.map"; }
        OFFICE { type = "ip"; map = ["192.0.2.0/24", "2001:db8::1"]; action = "accept"; }
        WORDS { type = "content"; filter = "text"; regexp = true; score = 4; map = "$LOCAL_CONFDIR/local.d/maps.d/words.map"; }
        BULK { type = "from"; regexp = true; score = 3; map = "$LOCAL_CONFDIR/local.d/maps.d/bulk.map"; }
        SHOPS { type = "url"; filter = "tld"; score = 5; map = "$LOCAL_CONFDIR/local.d/maps.d/shops.map"; }
        FAR { type = "country"; score = 2; map = ["ZZ"]; }
        FETCHED { type = "from"; score = 2; map = "https://lists.example/bad.map"; }
        FILES { type = "filename"; score = 2; map = ["exe"]; }
    """,
    "actions.conf": "reject = null; add_header = 9;",
    "settings.conf": """
        ann { rcpt = "ann@b.example"; apply { actions { "add header" = 4; } } }
        friends { from = "@partner.example"; rcpt = "ann@b.example"; whitelist = true; }
        boss { from = "boss@partner.example"; whitelist = true; }
        quiet { rcpt = "bob@b.example"; apply { symbols_disabled = ["R_SPF_FAIL"]; } }
    """,
    "greylist.conf": "timeout = 10min;",
    "maps.d/spammers.map": "x@spam.example bad\n# known\nspam2.example\n@spam3.example\nnobody\n",
    "maps.d/partners.map": "partner.example\n",
    "maps.d/words.map": "/cheap +pills/i\n/(?=a)b/\n",
    "maps.d/bulk.map": "/^bulk\\d+@/i 3.0\n",
    "maps.d/shops.map": "shop.example\nco.uk\n",
    "maps.d/spf_whitelist.inc.local": "bank.example\n",
    "rspamd.lua": "-- a rule of ours",
}  # fmt: skip


@pytest.mark.skipif(shutil.which("rspamadm") is None, reason="no rspamd here")
def test_rspamd_as_it_is_configured_by_an_admin(tmp_path: Path) -> None:
    for name, text in LOCAL_D.items():
        path = tmp_path / "local.d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = ["rspamadm", f"--var=LOCAL_CONFDIR={tmp_path}", "configdump", "-j"]
    dump = subprocess.run(command, capture_output=True, check=True).stdout
    (tmp_path / "configdump.json").write_bytes(dump)
    plan = read_plan(OldProgram.RSPAMD, tmp_path, now=1e9)
    assert lists(plan) == {
        "RSPAMD_SPAMMERS": (
            ListAction.DENY, (ListSubject.SENDER,), RuleMode.LIVE, ["x@spam.example", "spam2.example", "@spam3.example"],
        ),
        "RSPAMD_PARTNERS": (ListAction.ALLOW, (ListSubject.FROM,), RuleMode.SHADOW, ["partner.example"]),
        "RSPAMD_OFFICE": (ListAction.ALLOW, (ListSubject.CLIENT,), RuleMode.LIVE, ["192.0.2.0/24", "2001:db8::1"]),
        "RSPAMD_WHITELIST_SPF": (ListAction.ALLOW, (ListSubject.SENDER, ListSubject.FROM), RuleMode.SHADOW, ["bank.example"]),
        "RSPAMD_BOSS": (ListAction.ALLOW, (ListSubject.SENDER, ListSubject.FROM), RuleMode.LIVE, ["boss@partner.example"]),
    }  # fmt: skip
    assert [(rule.name, rule.when, rule.score) for rule in plan.rules] == [
        ("RSPAMD_BULK", "matches(sender, '(?i)^bulk\\\\d+@')", 50.0),
        ("RSPAMD_FAR_ZZ", "client.country == 'ZZ'", 33.33),
    ]
    signed = [(signature.kind, signature.value) for signature, _ in plan.signatures]
    assert signed == [("domain", "shop.example"), ("pattern", "(?i)cheap +pills")]
    assert of_person(plan, "ann@b.example") == {("allow", "domain", "partner.example")}
    assert plan.persons["ann@b.example"].strictness == 0.667
    assert plan.lines == {"shadow_spam_score": 150.0}
    why = whys(plan)
    assert "neither a mail address nor a domain" in why["nobody"]
    assert "look-ahead" in why["/(?=a)b/"]
    assert "public suffix" in why["co.uk"]
    assert "fetch it yourself" in why["https://lists.example/bad.map"]
    assert "changes symbols" in why["quiet"]
    assert "`[greylist]`" in why["greylist.conf"]
    assert "Lua" in why["rspamd.lua"]
    assert "never done" in why["reject = None"]
    assert "oborona learn" in why["classifier"]
    assert "filename" in whys(plan)["type filename, filter none, map ['exe']"]


def test_rspamd_without_a_dump_is_told_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rspamadm configdump -j > DIR/configdump\.json"):
        read_plan(OldProgram.RSPAMD, tmp_path, now=0)


LOCAL_CF = r"""
whitelist_from  *@example.com ann@example.org joe*@bar.example *.foo.example
unwelcomelist_from ann@example.org
welcomelist_auth *@bank.example
whitelist_from_dkim news@shop.example shop.example
blocklist_from *@spam.example        # since May
all_spam_to abuse@b.example
more_spam_to bob@b.example
required_score 7
use_bayes 1
header LOCAL_PILLS Subject =~ /\bcheap pills\b/i
describe LOCAL_PILLS cheap {pills}
score LOCAL_PILLS 3.5
header LOCAL_MAILER X-Mailer =~ /^The Bat/
header LOCAL_THERE exists:X-Foo
header LOCAL_EVAL eval:check_foo()
body LOCAL_BEHIND /(?<=x)foo/
body LOCAL_TODAY m{buy\x{20}now/today}i
body LOCAL_OCTETS /\xd0\xb0/
uri LOCAL_HOST /^https?:\/\/www\.evil\.example\//i
uri LOCAL_PATH /evil\.example\/a/
uri_detail LOCAL_DETAIL domain =~ /^evil\./
meta LOCAL_META (LOCAL_PILLS && LOCAL_TODAY)
score BAYES_99 5
score LOCAL_META 2
"""


def test_spamassassin_as_it_is_configured_by_an_admin(tmp_path: Path) -> None:
    (tmp_path / "local.cf").write_text(LOCAL_CF)
    for name, text in {
        "users/bob@b.example": "whitelist_from eve@c.example x@c.example\nrequired_score 2\nbody X /x/\n"
        "unwhitelist_from x@c.example no@c.example\nblacklist_from eve@c.example\n",
        "users/b.example/joe": "blacklist_from *@spam.example\n",
        "home/root/.spamassassin": "required_score 50\n",
    }.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "user_prefs").write_text(text)
    plan = read_plan(OldProgram.SPAMASSASSIN, tmp_path, now=1e9)
    found = {name.removeprefix("SPAMASSASSIN_"): row[0::3] for name, row in lists(plan).items()}
    assert found == {
        "WHITELIST_FROM": (ListAction.ALLOW, ["@example.com", ".foo.example"]),
        "WHITELIST_AUTH": (ListAction.ALLOW, ["@bank.example"]),
        "WHITELIST_FROM_DKIM": (ListAction.ALLOW, ["news@shop.example"]),
        "BLACKLIST_FROM": (ListAction.DENY, ["@spam.example"]),
        "ALL_SPAM_TO": (ListAction.ALLOW, ["abuse@b.example"]),
    }
    assert any("when SPF or DKIM proves it" in told for told in plan.told)
    assert {rule.name.removeprefix("SPAMASSASSIN_LOCAL_"): rule.when for rule in plan.rules} == {
        "PILLS": r"matches(subject.raw, '(?i)\\bcheap pills\\b')",
        "THERE": "'x-foo' in headers",
        "TODAY": r"matches(text.raw, '(?i)buy\\x{20}now/today')",
        "HOST": "any_of(links.hosts, it == 'evil.example' or endswith(it, '.evil.example'))",
        "DETAIL": r"any_of(links.domains, matches(it, '^evil\\.'))",
    }
    assert (plan.rules[0].score, plan.rules[0].say) == (70.0, "cheap (pills)")
    assert [one.signature.value for one in plan.signatures] == [r"^x\-mailer: (?:The Bat)"]
    assert plan.lines == {"shadow_spam_score": 140.0}
    assert of_person(plan, "bob@b.example") == {("allow", "address", "eve@c.example")}
    assert of_person(plan, "joe@b.example") == {("deny", "domain", "spam.example")}
    assert plan.persons["bob@b.example"].strictness == 0.5
    why = whys(plan)
    assert "wildcard within" in why["joe*@bar.example"]
    assert "takes it back" in why["ann@example.org"]
    assert "look-behind" in why[r"body LOCAL_BEHIND /(?<=x)foo/"]
    assert "octets" in why[r"body LOCAL_OCTETS /\xd0\xb0/"]
    assert "--domain" in why["required_score 50"]
    assert "not all of it" in why[r"uri LOCAL_PATH /evil\.example\/a/"]
    assert "belongs to a rule" in why["score LOCAL_META 2"]
    assert "scores and words" in why["score BAYES_99 5"]
    assert "no rules or scores" in why["body X /x/"]
    assert "takes it back" in why["x@c.example"]
    assert "nothing here says" in why["no@c.example"]
    assert "opposite" in why["bob@b.example: eve@c.example"]


@pytest.mark.skipif(not SPAMASSASSIN.is_dir(), reason="no SpamAssassin here")
def test_rules_that_ship_with_spamassassin_are_read_to_the_end() -> None:
    plan = read_plan(OldProgram.SPAMASSASSIN, SPAMASSASSIN, now=1e9)
    assert len(plan.rules) > 100
    assert len(plan.signatures) > 200
    assert not plan.persons


def test_amavis_as_it_is_configured_by_an_admin(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "50-user").write_text(
        r"""use strict;
$sa_tag2_level_deflt = 6.31;
$sa_tag2_level_deflt = 5.0 + 1;   # computed
$sa_kill_level_deflt = 12.62; $final_spam_destiny = D_REJECT;
$virus_admin = "postmaster\@$mydomain";
@whitelist_sender_maps = read_hash("/etc/amavis/whitelist");
@blacklist_sender_maps = ( qw( .spam.example x@y.example ), new_RE( qr'^bulk\d+@'i, qr'(?!x)y' ) );
@spam_lovers_maps = ( { 'abuse@b.example' => 1, 'bob@b.example' => 0 }, \%spam_lovers );
@spam_tag2_level_maps = ( { 'ann@b.example' => 4.4, '.' => 6 } );
$per_recip_whitelist_sender_lookup_tables = { 'ann@b.example' => [qw( eve@c.example .friends.example )] };
@score_sender_maps = ({ 'ann@b.example' => [{'.ebay.example' => -3.0}],
  '.' => [ new_RE( [qr'^offers@'i => 5.0] ),
    { 'news@d.example' => -3.0, # soft
      '.e.example' => 1.0 } ] });
@mynetworks = qw( 127.0.0.0/8 );
system("touch /tmp/x") if 1;
1;  # ensure a defined return
"""
    )
    (tmp_path / "whitelist").write_text("# ours\nann@partner.example\n.bank.example 1\n.\n")
    plan = read_plan(OldProgram.AMAVIS, tmp_path, now=1e9)
    assert {name.removeprefix("AMAVIS_"): (row[0], row[2], row[3]) for name, row in lists(plan).items()} == {
        "WHITELIST_SENDER": (ListAction.ALLOW, RuleMode.LIVE, ["ann@partner.example", ".bank.example"]),
        "BLACKLIST_SENDER": (ListAction.DENY, RuleMode.LIVE, [".spam.example", "x@y.example"]),
        "SPAM_LOVERS": (ListAction.ALLOW, RuleMode.LIVE, ["abuse@b.example"]),
        "SCORED": (ListAction.ALLOW, RuleMode.SHADOW, ["news@d.example"]),
        "SCORED_2": (ListAction.DENY, RuleMode.SHADOW, [".e.example"]),
    }  # fmt: skip
    assert [(rule.when, rule.score) for rule in plan.rules] == [
        (r"matches(sender, '(?i)^bulk\\d+@')", 100.0),
        ("matches(sender, '(?i)^offers@')", 100.0),
    ]
    assert plan.lines == {"shadow_reject_score": 400.0}
    assert plan.persons["ann@b.example"].strictness == 0.697
    assert of_person(plan, "ann@b.example") == {
        ("allow", "address", "eve@c.example"),
        ("allow", "domain", "friends.example"),
    }
    why = whys(plan)
    assert "computed" in why["$sa_tag2_level_deflt = 5.0 + 1"]
    assert "look-ahead" in why["qr'(?!x)y'"]
    assert "no points" in why["ann@b.example"]
    assert "is not on the list" in why["bob@b.example"]
    assert "everybody" in why["."]
    assert "site.networks" in next(why[what] for what in why if what.startswith("@mynetworks"))
    assert any(what.startswith("system") for what in why)


FILTERCONF = r"""-- MariaDB dump
CREATE TABLE `filterconf` (`object` varchar(255) NOT NULL, `option` varchar(50));
INSERT INTO `other` VALUES ('ann@b.example','whitelist_from','no@x.example',1);
INSERT INTO `filterconf` VALUES
('ann@b.example','lowspamlevel','5','2024-01-01 00:00:00',NULL,1),
('ann@b.example','highspamlevel','15','2024-01-01 00:00:00',NULL,2),
('ann@b.example','whitelist_from','*@friends.example','2024-01-01 00:00:00',NULL,3),
('ann@b.example','blacklist_from','it\'s@x.example','2024-01-01 00:00:00',NULL,4),
('b.example','blacklist_from','*@spam.example','2024-01-01 00:00:00',NULL,5),
('b.example','whitelist_from','boss@p.example','2024-01-01 00:00:00',NULL,6),
('bob@b.example','whitelist_from','a*@x.example','2024-01-01 00:00:00',NULL,7),
('bob@b.example','quarantine','1','2024-01-01 00:00:00',NULL,8);
"""


def test_mailcow_as_people_set_it(tmp_path: Path) -> None:
    (tmp_path / "filterconf.sql").write_text(FILTERCONF)
    api = [
        {
            "object": "eve@b.example",
            "option": "blacklist_from",
            "value": "x@y.example",
            "prefid": 9,
        },
        7,
    ]
    (tmp_path / "api.json").write_text(json.dumps(api))
    (tmp_path / "custom").mkdir()
    (tmp_path / "custom" / "global_smtp_from_whitelist.map").write_text("/.+@p\\.example$/i\n")
    (tmp_path / "custom" / "bad_words.map").write_text("/cheap pills/i\n")
    (tmp_path / "custom" / "fishy_tlds.map").write_text("/zip$/\n")
    plan = read_plan(OldProgram.MAILCOW, tmp_path, now=1e9)
    assert plan.persons["ann@b.example"].strictness == 0.625
    assert of_person(plan, "ann@b.example") == {
        ("allow", "domain", "friends.example"),
        ("deny", "address", "it's@x.example"),
    }
    assert of_person(plan, "eve@b.example") == {("deny", "address", "x@y.example")}
    assert {rule.when: rule.score for rule in plan.rules} == {
        "recipient.domain == 'b.example' and from.domain == 'spam.example'": 100.0,
        "recipient.domain == 'b.example' and from.address == 'boss@p.example' and dmarc.aligned": -100.0,
        r"matches(sender, '(?i).+@p\\.example$') and spf.result == 'pass'": -100.0,
    }  # fmt: skip
    assert [one.signature.value for one in plan.signatures] == ["(?i)cheap pills"]
    why = whys(plan)
    assert "wildcard" in why["bob@b.example: whitelist_from a*@x.example"]
    assert "no such setting" in why["bob@b.example: quarantine 1"]
    assert "no map of mailcow" in why["/zip$/"]
    assert why["7"] == "is no setting"
