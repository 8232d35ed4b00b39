"""`[free_lists]`: which DNS lists are on for a site of what size, and what stands above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED, PolicyFolders
from oborona.policy.free_lists import FreeListsTable, obstacle
from oborona.policy.load import Policy, load_policy
from oborona.reputation.dnsbl import DnsList, FreeTo
from oborona.types import RuleMode
from tests.reputation.dnsbl.lists import a_list

SMALL = {"SPAMHAUS_ZEN", "SPAMCOP", "PSBL", "MAILSPIKE", "UCEPROTECT_1", "DNSWL", "MAILSPIKE_WL", "SPAMHAUS_DBL", "SURBL", "URIBL"}  # fmt: skip
FREE_FOR_ALL = {"SPAMCOP", "PSBL"}


def policy(folder: Path, text: str) -> Policy:
    (folder / "90-local.toml").write_text(text)
    return load_policy(PolicyFolders(own=folder, shipped=PACKAGED), SCHEMA)


def on(loaded: Policy) -> set[str]:
    return {dns_list.name for dns_list in loaded.dns_lists if dns_list.enabled}


def table(messages_a_day: int, *, commercial: bool, more: str = "") -> str:
    return (
        f"[free_lists]\nenabled = true\nmessages_a_day = {messages_a_day}\n"
        f"commercial = {str(commercial).lower()}\n{more}"
    )


def test_no_list_is_on_that_nobody_switched_on(tmp_path: Path) -> None:
    assert on(policy(tmp_path, "[verdict]\n")) == set()
    assert on(policy(tmp_path, "[free_lists]\nmessages_a_day = 10\ncommercial = false\n")) == set()


@pytest.mark.parametrize(
    ("messages_a_day", "commercial", "names"),
    [
        (1, False, SMALL | {"MSBL_EBL"}),
        (1_999, False, SMALL | {"MSBL_EBL"}),
        (2_000, False, SMALL),
        (9_999, False, SMALL),
        (10_000, False, SMALL - {"UCEPROTECT_1", "URIBL"}),
        (60_000, False, {"MAILSPIKE", "MAILSPIKE_WL", "DNSWL", "SURBL"} | FREE_FOR_ALL),
        (100_000, False, {"SURBL"} | FREE_FOR_ALL),
        (250_000, False, FREE_FOR_ALL),
        (1, True, {"UCEPROTECT_1", "URIBL"} | FREE_FOR_ALL),
        (10_000_000, True, FREE_FOR_ALL),
    ],
)
def test_the_size_and_the_trade_of_a_site_say_what_is_on(
    tmp_path: Path, messages_a_day: int, commercial: bool, names: set[str]
) -> None:
    assert on(policy(tmp_path, table(messages_a_day, commercial=commercial))) == names


def test_what_a_site_says_of_a_list_itself_stands(tmp_path: Path) -> None:
    more = (
        '[[dns_list]]\nname = "PSBL"\nenabled = false\n'
        '[[dns_list]]\nname = "URIBL"\nenabled = true\n'
        '[[dns_list]]\nname = "BARRACUDA"\nenabled = true\n'
    )
    names = on(policy(tmp_path, table(300_000, commercial=False, more=more)))
    assert names == {"SPAMCOP", "URIBL", "BARRACUDA"}
    assert on(policy(tmp_path, more)) == {"URIBL", "BARRACUDA"}


def test_on_trial_is_what_the_table_switched_on_and_no_other(tmp_path: Path) -> None:
    more = (
        'mode = "shadow"\n[[dns_list]]\nname = "PSBL"\nmode = "live"\n'
        '[[dns_list]]\nname = "BARRACUDA"\nenabled = true\n'
    )
    loaded = policy(tmp_path, table(300_000, commercial=False, more=more))
    modes = {dns_list.name: dns_list.mode for dns_list in loaded.dns_lists if dns_list.enabled}
    assert modes == {
        "SPAMCOP": RuleMode.SHADOW,
        "PSBL": RuleMode.LIVE,
        "BARRACUDA": RuleMode.LIVE,
    }


def test_a_list_of_ones_own_is_on_by_itself_and_by_its_terms_if_it_has_any(tmp_path: Path) -> None:
    own = '[[dns_list]]\nname = "OURS"\nzone = "bl.example"\nof = ["client"]\nscore = 60\n'
    assert on(policy(tmp_path, own)) == {"OURS"}
    assert on(policy(tmp_path, f'{own}free_to = "anybody"\n')) == set()
    text = table(300_000, commercial=True) + f'{own}free_to = "anybody"\nfree_below = 300001\n'
    assert on(policy(tmp_path, text)) == {"OURS"} | FREE_FOR_ALL


@pytest.mark.parametrize(
    ("dns_list", "words"),
    [
        (a_list(), "its terms want more than a site's size"),
        (a_list(free_to=FreeTo.OWN), "you sell mailboxes or filtering"),
        (a_list(free_to=FreeTo.ANYBODY, free_below=5_000), "free below 5,000 messages a day"),
        (a_list(free_to=FreeTo.ANYBODY, free_below=5_001), ""),
        (a_list(free_to=FreeTo.ANYBODY), ""),
    ],
)
def test_what_keeps_a_list_off_is_said(dns_list: DnsList, words: str) -> None:
    said = obstacle(dns_list, FreeListsTable(enabled=True, messages_a_day=5_000, commercial=True))
    assert said.endswith(words)
    assert bool(said) == bool(words)


def test_every_list_that_ships_has_terms_and_one_that_is_on_by_them_says_where(
    tmp_path: Path,
) -> None:
    for dns_list in policy(tmp_path, "[verdict]\n").dns_lists:
        assert "https://" in dns_list.terms, dns_list.name
        if dns_list.free_to is not None:
            assert dns_list.terms.startswith(("Free", "Anybody", "As of SPAMHAUS_ZEN")), dns_list
        if dns_list.free_below > 10_000:
            assert (
                f"{dns_list.free_below:,} messages" in dns_list.terms
                or "as of" in (dns_list.terms.lower())
                or f"{dns_list.free_below:,} queries" in dns_list.terms
            ), dns_list.name


def test_what_a_site_says_of_itself_is_no_other_policy_while_the_same_lists_are_on(
    tmp_path: Path,
) -> None:
    nothing = policy(tmp_path, "[verdict]\n").version
    off = policy(tmp_path, "[free_lists]\nmessages_a_day = 10\n").version
    by_size = policy(tmp_path, table(300_000, commercial=False)).version
    larger = policy(tmp_path, table(900_000, commercial=True)).version
    by_hand = policy(
        tmp_path,
        "".join(f'[[dns_list]]\nname = "{name}"\nenabled = true\n' for name in FREE_FOR_ALL),
    ).version
    assert nothing == off != by_size == larger == by_hand
