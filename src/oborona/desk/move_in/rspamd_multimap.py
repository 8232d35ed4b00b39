"""rspamd's multimap rules: maps of whole keys become lists, those of expressions rules and
signatures on trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from oborona.desk.move_in.json_files import number_of, table_of
from oborona.desk.move_in.perl_patterns import checked_pattern, pattern_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import SourcePlace
from oborona.desk.move_in.rspamd_maps import MapKey, RspamdMaps, bare_key
from oborona.desk.move_in.their_addresses import entry_of
from oborona.policy.signatures import SignatureKind
from oborona.policy.signatures.model import SignatureScope
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

A_POINT: Final = 100.0 / 6  # points of ours for one of theirs: 6 are spam there, 100 here
_SUBJECTS: Final = {
    "ip": ListSubject.CLIENT,
    "from": ListSubject.SENDER,
    "rcpt": ListSubject.RECIPIENT,
    "helo": ListSubject.HELO,
    "hostname": ListSubject.RDNS,
}
_FACTS: Final = {
    ListSubject.SENDER: "sender",
    ListSubject.RECIPIENT: "recipient",
    ListSubject.HELO: "helo",
    ListSubject.RDNS: "client.name",
    ListSubject.FROM: "from.address",
}
_PROOFS: Final = {ListSubject.SENDER: "spf.result == 'pass'", ListSubject.FROM: "dmarc.aligned"}
_ADDRESSES: Final = (None, "email", "email:addr", "email:domain")
_ON_TRIAL: Final = (
    "a map that only adds or takes points there, or asks for symbols too, is a list on trial here "
    '(`mode = "shadow"`): it is told, and decides nothing until you change that'
)


class _Rule(NamedTuple):
    """A multimap rule."""

    name: str
    kind: str
    filter: str | None
    header: str
    action: ListAction
    mode: RuleMode
    score: float
    say: str
    regexp: bool


def read_multimap(rules: Mapping[str, Any], dump: str, maps: RspamdMaps, plan: MovePlan) -> None:
    """Take all rules.

    Args:
        rules: by name, of the dump.
        dump: name of its file.
        maps: reads what they name.
        plan: takes what becomes of them.
    """
    for name, value in sorted(rules.items()):
        place = SourcePlace(f"{dump} multimap.{name}")
        table = table_of(value)
        if not table:
            plan.leave(place, str(value), "is no rule of multimap")
            continue
        rule = _rule(name, table)
        named = table.get("map", table.get("maps"))
        take = _taker(rule, plan)
        if isinstance(take, str):
            plan.leave(place, _told(rule, named), take)
            continue
        if rule.mode is RuleMode.SHADOW and not rule.regexp:
            plan.tell(_ON_TRIAL)
        for key in maps.keys(named, place):
            try:
                take(key)
            except ValueError as fault:
                plan.leave(key.place, key.key, str(fault))
        plan.carried.add(place)


def _rule(name: str, table: Mapping[str, Any]) -> _Rule:
    action = str(table.get("action", "")).lower()
    score = number_of(table.get("score"))
    score = 0.0 if score is None else score
    decides = action in ("accept", "no action", "reject", "discard")
    lets_in = action in ("accept", "no action") if decides else score < 0
    text = table.get("filter")
    return _Rule(
        name=str(table.get("symbol") or name),
        kind=str(table.get("type", "")).lower(),
        filter=text.lower() if isinstance(text, str) and text else None,
        header=str(table.get("header", "")).lower(),
        action=ListAction.ALLOW if lets_in else ListAction.DENY,
        mode=RuleMode.LIVE if decides and not table.get("require_symbols") else RuleMode.SHADOW,
        score=score or (0.0 if not decides else -6.0 if lets_in else 6.0),
        say=str(table.get("description") or table.get("symbol") or name),
        regexp=bool(table.get("regexp")) or str(table.get("map", "")).startswith("regexp"),
    )


def _told(rule: _Rule, named: Any) -> str:
    return f"type {rule.kind}, filter {rule.filter or 'none'}, map {str(named)[:80]}"


def _taker(rule: _Rule, plan: MovePlan) -> Callable[[MapKey], object] | str:
    """Return what takes a key of a rule; a text says why nothing does."""
    if not rule.score and rule.mode is RuleMode.SHADOW:
        return "adds no points there: it is a word for other rules of theirs"
    subject = _SUBJECTS.get(rule.kind)
    if rule.kind == "header" and rule.header == "from" and rule.filter in _ADDRESSES[1:]:
        subject = ListSubject.FROM
    if rule.regexp:
        return _of_patterns(rule, subject, plan)
    if rule.kind == "url":
        return _of_links(rule, plan)
    if rule.kind in ("country", "asn"):
        return lambda key: _place(rule, key, plan)
    if subject is None:
        return f"maps of the type {rule.kind or 'none'} have no list here"
    if rule.filter not in (*_ADDRESSES, "email:domain:tld", "real_ip"):
        return f"its filter {rule.filter} has no list here"
    planned = plan.begin_list(
        rule.name, rule.action, [subject], why=f"multimap of rspamd: {rule.say}", mode=rule.mode
    )

    def enter(key: MapKey) -> None:
        found = entry_of(bare_key(key.key))
        entry = found.entry
        if rule.filter == "email:domain:tld":
            entry = f".{entry.lstrip('.@')}"
        if found.note:
            plan.tell(found.note)
        plan.enter(planned, entry, key.place)

    return enter


def _of_links(rule: _Rule, plan: MovePlan) -> Callable[[MapKey], object] | str:
    kinds = {None: SignatureKind.HOST, "host": SignatureKind.HOST, "tld": SignatureKind.DOMAIN}
    kind = kinds.get(rule.filter)
    if kind is None:
        return f"its filter {rule.filter}: of a link a list here sees host and domain"
    if rule.action is ListAction.ALLOW:
        return "a link lets nobody in here: anybody can write it"
    return lambda key: plan.sign(bare_key(key.key), key.place, kind=kind, reason=rule.say)


def _of_patterns(
    rule: _Rule, subject: ListSubject | None, plan: MovePlan
) -> Callable[[MapKey], object] | str:
    if subject in _FACTS and (rule.filter in _ADDRESSES[:3]):
        fact, proof = _FACTS[subject], ""
        if rule.action is ListAction.ALLOW and subject in _PROOFS:
            proof = f" and {_PROOFS[subject]}"
        return lambda key: plan.rule(
            rule.name, f"matches({fact}, {_pattern(key.key)!r}){proof}", rule.score * A_POINT, rule.say, key.place
        )  # fmt: skip
    if rule.action is ListAction.ALLOW:
        return "an expression lets nobody in here: anybody can write it"
    if rule.kind == "header" and rule.header and not rule.filter:
        header = rule.header
        if header == "subject":
            return lambda key: plan.sign(
                _pattern(key.key), key.place,
                kind=SignatureKind.PATTERN, where=SignatureScope.SUBJECT, reason=rule.say,
            )  # fmt: skip
        return lambda key: plan.sign(
            _of_header(header, _pattern(key.key)), key.place,
            kind=SignatureKind.PATTERN, where=SignatureScope.HEADER, reason=rule.say,
        )  # fmt: skip
    if rule.kind == "content" and rule.filter in (None, "body", "text", "oneline", "full"):
        return lambda key: plan.sign(
            _pattern(key.key), key.place, kind=SignatureKind.PATTERN, reason=rule.say
        )
    return f"expressions of the type {rule.kind or 'none'}, filter {rule.filter}, have no rule here"


def _pattern(line: str) -> str:
    """Return the pattern of a map's line: /re/flags and perhaps a value, or a bare one."""
    if line.startswith("/"):
        return pattern_of(line).text
    return checked_pattern(bare_key(line))


def _of_header(header: str, pattern: str) -> str:
    """Return a pattern of a header's value as one of `name: value`."""
    body = re.sub(r"\A(\(\?[ims]+\))?(?:\^|\\A)", r"\1", pattern)
    between = "" if body != pattern else ".*"
    return rf"^{re.escape(header)}: {between}(?:{body})"


def _place(rule: _Rule, key: MapKey, plan: MovePlan) -> None:
    text = bare_key(key.key)
    if rule.kind == "country":
        if not re.fullmatch(r"[A-Za-z]{2}", text):
            raise ValueError("is no country of two letters")
        when = f"client.country == {text.upper()!r}"
    else:
        if not re.fullmatch(r"[0-9]{1,10}", text):
            raise ValueError("is no number of an autonomous system")
        when = f"client.as_number == {int(text)}"
    plan.rule(f"{rule.name}_{text}", when, rule.score * A_POINT, rule.say, key.place)
