"""rspamd's whitelist module: domains whose proved mail loses points, as lists on trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oborona.desk.move_in.json_files import table_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.rspamd_maps import RspamdMaps, bare_key
from oborona.desk.move_in.their_addresses import entry_of
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

_SHIPPED: Final = frozenset(
    {
        "spf_whitelist.inc",
        "dmarc_whitelist.inc",
        "spf_dkim_whitelist.inc",
        "dmarc_whitelist_new.inc",
    }
)


def read_whitelist(rules: Mapping[str, Any], dump: str, maps: RspamdMaps, plan: MovePlan) -> None:
    """Take the rules' own maps; those that ship with rspamd stay there.

    Args:
        rules: by symbol, of the dump.
        dump: name of its file.
        maps: reads what they name.
        plan: takes what becomes of them.
    """
    for name, value in sorted(rules.items()):
        table, place = table_of(value), SourcePlace(f"{dump} whitelist.{name}")
        named = table.get("domains")
        plan.carried.add(place)
        several = named if isinstance(named, list) else [named]
        own = [one for one in several if _is_own(one, maps)]
        if not own or table.get("blacklist"):
            plan.leave(place, name, "what ships with rspamd, or keeps out: not carried over")
            continue
        planned = plan.begin_list(
            name,
            ListAction.ALLOW,
            [ListSubject.SENDER, ListSubject.FROM],
            why=f"whitelist of rspamd, {name}: takes points off there",
            mode=RuleMode.SHADOW,
        )
        for key in maps.keys(own, place):
            try:
                plan.enter(planned, entry_of(bare_key(key.key)).entry, key.place)
            except ValueError as fault:
                plan.leave(key.place, key.key, str(fault))


def _is_own(named: Any, maps: RspamdMaps) -> bool:
    """Tell whether a map holds what the site has written itself."""
    if not isinstance(named, str):
        return named is not None
    base = named.rpartition("/")[2]
    if named.startswith(("http", "fallback+")) or base in _SHIPPED:
        return False
    # rspamd looks for these beside its own, whether there are any or not
    return not base.endswith(".inc.local") or maps.has(named)
