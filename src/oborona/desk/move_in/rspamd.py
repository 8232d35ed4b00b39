"""rspamd's configuration, as `rspamadm configdump -j` prints it, and the maps that it names."""

from __future__ import annotations

from typing import Any, Final

from oborona.desk.move_in.json_files import number_of, read_json, table_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.rspamd_maps import RspamdMaps
from oborona.desk.move_in.rspamd_multimap import read_multimap
from oborona.desk.move_in.rspamd_settings import read_settings
from oborona.desk.move_in.rspamd_whitelist import read_whitelist
from oborona.desk.move_in.sources import SourceFolder
from oborona.errors import ConfigError

DUMPS: Final = ("configdump.json", "rspamd.json")
HOW: Final = "on the old machine, `rspamadm configdump -j > DIR/configdump.json` makes it"
# scores as rspamd ships, and ours
ADD_HEADER: Final = 6.0
REJECT: Final = 15.0
_LINES: Final = (
    (("add header", "add_header"), ADD_HEADER, "shadow_spam_score", 100.0),
    (("reject",), REJECT, "shadow_reject_score", 200.0),
)
_FROM_DUMP: Final = frozenset({"multimap", "settings", "actions", "whitelist"})
_OURS: Final = {
    "classifier-bayes": "tokens are hashes of other pieces here: `oborona learn` from Junk folders and inboxes instead",
    "statistic": "tokens are hashes of other pieces here: `oborona learn` from Junk folders and inboxes instead",
    "fuzzy_check": "no fuzzy hash is imported: counters learn copies by themselves, within a day",
    "greylist": "greylisting is `[greylist]` of the policy (docs/senders/clients.md); what waits is not carried over",
    "ratelimit": "limits of your own people are docs/policy/limits.md; what is counted is not carried over",
    "antivirus": "ClamAV is `[engines.clamd]` (docs/mail-servers/engines.md)",
    "rbl": "DNS lists are said in the policy (docs/senders/dns-lists.md)",
    "surbl": "DNS lists are said in the policy (docs/senders/dns-lists.md)",
    "dkim_signing": "nothing is signed here: leave the signing to rspamd, or give it to OpenDKIM",
    "arc": "nothing is sealed here: leave that to rspamd",
    "dmarc": "no reports of DMARC are sent here",
    "groups": "scores are of other rules",
    "force_actions": "expressions over symbols of theirs: write a rule with `rspamd.symbols`",
    "composites": "expressions over symbols of theirs: write a rule with `rspamd.symbols`",
    "neural": "it was taught by symbols of theirs",
    "reputation": "its past is not carried over; reputation learns within days",
    "milter_headers": "headers are those of docs/operate/headers.md",
    "spamtrap": "addresses that no person uses are `[[trap]]` (docs/people/reports.md)",
}  # fmt: skip


def read_rspamd(
    folder: SourceFolder, dump: tuple[str, bytes] | None, plan: MovePlan, *, now: float
) -> None:
    """Take what a dump and the files beside it say.

    Args:
        folder: `/etc/rspamd`, or a copy of it.
        dump: name and octets of what rspamadm printed; None = a file of the folder.
        plan: takes it.
        now: Unix seconds.

    Raises:
        ConfigError: there is no dump, it is none, or a file can't be read.
    """
    name, raw = dump or _dump_of(folder)
    whole = read_json(raw, name)
    if not isinstance(whole, dict) or not whole.keys() & {"multimap", "actions", "options"}:
        raise ConfigError(f"is no dump of rspamd; {HOW}", file=name)
    maps = RspamdMaps(folder, plan)
    _actions(table_of(whole.get("actions")), SourcePlace(f"{name} actions"), plan)
    read_multimap(table_of(whole.get("multimap")), name, maps, plan)
    read_whitelist(table_of(table_of(whole.get("whitelist")).get("rules")), name, maps, plan)
    read_settings(whole.get("settings"), name, plan, now=now)
    for section in ("classifier", "fuzzy_check"):
        if table_of(whole.get(section)):
            why = _OURS["statistic" if section == "classifier" else section]
            plan.leave(SourcePlace(f"{name} {section}"), section, why)
    _files(folder, maps.used | {name}, plan)


def _dump_of(folder: SourceFolder) -> tuple[str, bytes]:
    name = next((name for name in DUMPS if name in folder.names), None)
    if name is None:
        raise ConfigError(f"holds no {DUMPS[0]}; {HOW}", file=str(folder.root))
    return name, folder.octets(name)


def _actions(actions: Any, place: SourcePlace, plan: MovePlan) -> None:
    for names, usual, key, ours in _LINES:
        value = next((actions[name] for name in names if name in actions), None)
        score = number_of(value)
        if score is None or score > 100 * usual:
            plan.leave(
                place,
                f"{names[0]} = {value}",
                "is never done there: here `[verdict] refuse = false` refuses nothing at all",
            )
        elif score <= 0:
            plan.leave(place, f"{names[0]} = {score:g}", "is no score to begin from")
        else:
            plan.carried.add(place)
            if score != usual:
                plan.lines[key] = round(ours * score / usual, 1)
    for name in actions.keys() - {"add header", "add_header", "reject"}:
        plan.leave(place, f"{name} = {actions[name]}", "there is no such line here")


def _files(folder: SourceFolder, used: set[str], plan: MovePlan) -> None:
    """Tell of files that somebody has written and of which nothing was taken."""
    for name in folder.names:
        head, _, base = name.rpartition("/")
        stem = base.removesuffix(".conf").removesuffix(".inc")
        if name in used:
            continue
        if name.endswith(".lua"):
            plan.leave(SourcePlace(name), base, "Lua of rspamd is not run: docs/policy/lua.md")
        elif head in ("local.d", "override.d") and base.endswith((".conf", ".inc")):
            if stem in _FROM_DUMP:
                plan.carried.add(SourcePlace(name))
            else:
                why = next(
                    (why for known, why in _OURS.items() if stem.startswith(known)),
                    "there are no such settings here",
                )
                plan.leave(SourcePlace(name), base, why)
        elif head.startswith(("local.d", "override.d")) or base.endswith((".map", ".list")):
            plan.leave(SourcePlace(name), base, "nothing that was carried over names it")
