"""What `oborona doctor` says of the watch over own addresses."""

from __future__ import annotations

import time
from pathlib import Path

from oborona import state_files
from oborona.accounts.addresses.list_round import ListRound
from oborona.accounts.addresses.store import AddressStore
from oborona.cli.context import CliContext
from oborona.desk.doctor.addresses import addresses
from oborona.desk.doctor.report import CheckReport, CheckState

LIST = '[[dns_list]]\nname = "ONE"\nzone = "one.test"\nof = ["client"]\nscore = 60\n'


def reports(state: Path, *settings: str) -> list[CheckReport]:
    policy = state / "policy.d"
    policy.mkdir(exist_ok=True)
    context = CliContext(None, state, (f"paths.policy={policy}", *settings))
    return list(addresses(context))


def test_it_says_what_is_asked_and_that_rounds_end(tmp_path: Path) -> None:
    on = ("addresses.listings=true", "site.networks=9.1.0.0/22 9.16.0.0/12")
    assert reports(tmp_path) == [], "it is off"
    (left_out, none) = reports(tmp_path, *on)
    assert (left_out.state, "9.16.0.0/12" in left_out.words) == (CheckState.WARN, True)
    assert none.words == "no DNS list of addresses is on"
    (tmp_path / "policy.d/10-list.toml").write_text(LIST)
    on = (on[0], "site.networks=9.1.0.0/22")
    (never,) = reports(tmp_path, *on)
    assert never.words == "1,024 at 1 lists: 4,096 questions a day; none was asked yet"
    with AddressStore(tmp_path / state_files.ADDRESSES) as store:
        store.note(rounds=[ListRound(list="ONE", begun=time.time())])
        (well,) = reports(tmp_path, *on)
        assert (well.state, well.words[-10:]) == (CheckState.OK, "0 listings")
        old = time.time() - 13 * 3600
        store.note(rounds=[ListRound(list="ONE", begun=old, last="9.1.0.1", asked=2)])
        (late,) = reports(tmp_path, *on)
    assert (late.state, "no whole round of ONE within 12 h" in late.words) == (
        CheckState.WARN,
        True,
    )
