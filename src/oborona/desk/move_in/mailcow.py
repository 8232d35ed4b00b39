"""mailcow's filterconf: what people and domains set in its pages, and the maps of its rspamd.

The folder holds a dump of the database (`*.sql`), what the API gives (`*.json`), and perhaps the
maps of `data/conf/rspamd/custom`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from oborona.desk.move_in.json_files import read_json
from oborona.desk.move_in.mailcow_maps import read_maps
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, SourcePlace
from oborona.desk.move_in.sources import NO_TEXT, SourceFolder
from oborona.desk.move_in.sql_dumps import rows_of
from oborona.desk.move_in.their_addresses import entry_of, personal_entry
from oborona.domains import normal_host
from oborona.errors import ConfigError
from oborona.reputation.locallists import ListAction
from oborona.reputation.personal import EntryAction, mail_address

TABLE: Final = "filterconf"
LOW: Final = 8.0  # spam from here on, as mailcow ships
HIGH: Final = 15.0  # refused
OF_DOMAIN: Final = 100.0  # points of a rule on trial for a whole domain
HOW: Final = "on the old machine, `mysqldump mailcow filterconf > DIR/filterconf.sql` in its container makes it"
_COLUMNS: Final = ("object", "option", "value", "created", "modified", "prefid")
_UNPROVED: Final = (
    "whitelist_from of mailcow believes whatever From says: here an allow counts when SPF or DKIM "
    "proves it"
)
_SIDES: Final = {"whitelist_from": EntryAction.ALLOW, "blacklist_from": EntryAction.DENY}


class _Setting(NamedTuple):
    """One row of filterconf."""

    place: SourcePlace
    object: str
    option: str
    value: str


def read_mailcow(folder: SourceFolder, plan: MovePlan, *, now: float) -> None:
    """Take what stands in the files of a folder.

    Args:
        folder: of dumps and maps.
        plan: takes it.
        now: Unix seconds.

    Raises:
        ConfigError: there is none, or one can't be read.
    """
    dumps = [name for name in folder.names if name.endswith((".sql", ".json"))]
    maps = [name for name in folder.names if name.endswith(".map")]
    if not dumps and not maps:
        raise ConfigError(f"holds no dump of {TABLE} and no map; {HOW}", file=str(folder.root))
    for name in dumps:
        rows = _of_sql if name.endswith(".sql") else _of_json
        for setting in rows(folder.octets(name), name, plan):
            _take(setting, plan, now)
    read_maps(folder, maps, plan)


def _of_sql(raw: bytes, name: str, plan: MovePlan) -> Iterator[_Setting]:
    for row in rows_of(raw.decode("utf-8", "replace"), TABLE):
        place = SourcePlace(name, row.line)
        if row.problem:
            raise ConfigError(row.problem, file=name, line=row.line)
        values = dict(zip(row.columns or _COLUMNS, row.values, strict=False))
        yield from _setting(place, values, plan)


def _of_json(raw: bytes, name: str, plan: MovePlan) -> Iterator[_Setting]:
    value = read_json(raw, name)
    if isinstance(value, dict):
        value = value.get(TABLE, [value])
    if not isinstance(value, list):
        raise ConfigError("is no list of settings", file=name, line=1)
    for number, member in enumerate(value, 1):
        place = SourcePlace(f"{name} [{number}]")
        if isinstance(member, dict):
            yield from _setting(place, member, plan)
        else:
            plan.leave(place, str(member)[:200], "is no setting")


def _setting(place: SourcePlace, values: dict[str, Any], plan: MovePlan) -> Iterator[_Setting]:
    wanted = [values.get(key) for key in ("object", "option", "value")]
    texts = [
        str(value) for value in wanted
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]  # fmt: skip
    if len(texts) == len(wanted):
        yield _Setting(place, *texts)
    else:
        plan.leave(place, str(values)[:200], "is no setting: object, option and value are needed")


def _take(setting: _Setting, plan: MovePlan, now: float) -> None:
    place, what = setting.place, f"{setting.object}: {setting.option} {setting.value}"
    person = mail_address(setting.object)
    side = _SIDES.get(setting.option)
    if NO_TEXT in what:
        plan.leave(place, what, "is not UTF-8")
        return
    try:
        if side is not None and person:
            note = f"from {OldProgram.MAILCOW}, {place}"
            plan.put(person, personal_entry(side, setting.value, note, now), place)
            if side is EntryAction.ALLOW:
                plan.tell(_UNPROVED)
        elif side is not None:
            _of_domain(setting, side, plan)
        elif setting.option in ("lowspamlevel", "highspamlevel"):
            _level(setting, person, plan)
        else:
            plan.leave(place, what, "there is no such setting of a person here")
    except ValueError as fault:
        plan.leave(place, what, str(fault))


def _level(setting: _Setting, person: str, plan: MovePlan) -> None:
    score = float(setting.value)
    if not 0 < score < 10_000:
        raise ValueError("is no score")
    if not person:
        raise ValueError("a line for a whole domain: here a line is the site's or one person's")
    if setting.option == "lowspamlevel":
        plan.set_strictness(person, score / LOW, setting.place)
    elif score == HIGH:
        plan.carried.add(setting.place)
    else:
        raise ValueError("a line of refusal of one's own: a person has one line here, of spam")


def _of_domain(setting: _Setting, side: EntryAction, plan: MovePlan) -> None:
    """Make a rule on trial of an entry for a whole domain of the site."""
    domain = normal_host(setting.object)
    if not domain:
        raise ValueError("is neither a mail address nor a domain")
    entry = entry_of(setting.value).entry
    if entry.startswith("."):
        sender = f"in_domains(from.domain, ({entry[1:]!r},))"
    elif entry.startswith("@"):
        sender = f"from.domain == {entry[1:]!r}"
    elif "@" in entry:
        sender = f"from.address == {entry!r}"
    else:
        sender = f"from.domain == {entry!r}"
    allows = side is EntryAction.ALLOW
    proved = " and dmarc.aligned" if allows else ""
    action = ListAction.ALLOW if allows else ListAction.DENY
    plan.tell(
        "lists of a whole domain become rules on trial: a list here is the site's or one person's"
    )
    plan.rule(
        f"{domain}_{action}_{entry}",
        f"recipient.domain == {domain!r} and {sender}{proved}",
        -OF_DOMAIN if allows else OF_DOMAIN,
        f"{setting.option} of {domain}: {entry}",
        setting.place,
    )
