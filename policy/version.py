"""The version of a policy: a digest of its meaning.

The digest covers what decides about mail or is shown of it: tables as all files together give them,
enabled rules and lists, the entries of list files, the code of scripts.  It does not cover
comments, white space, file names, in which file or line a table stands, the order of tables, values
that repeat an earlier one, notes (`why`, `terms`, `author`, `created`), tests, and what is
disabled.  Two policies of one version judge alike; those of two versions may do so all the same, if
one condition is written in two ways, or a list in another order.

A field with its default is left out, so that a new key of a later program makes no new version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from oborona.policy.event_rules import EventPolicy
from oborona.policy.file_tables import SINGLE
from oborona.policy.flow_limits import FlowLimit
from oborona.policy.free_lists import FREE_LISTS
from oborona.policy.limits import Limit
from oborona.policy.merge import MergedPolicy

LENGTH: Final = 12  # hex digits: enough to tell one site's policies apart
_FORMAT: Final = b"2"  # of the digest: 1 was one of names and bytes
_NOTES: Final = frozenset(
    {"why", "terms", "free_to", "free_below", "test", "places", "enabled", "author", "created"}
)
_ELSEWHERE: Final = {
    "traps": frozenset({"addresses", "domains", "patterns", "files"})
}  # in a digest of theirs
_YOUNG: Final = frozenset({"outgoing"})  # tables without which versions were made
_PIECES: Final = re.compile(
    r'''"""(?:\\.|(?!""")[^\\])*"""|\'{3}(?:\\.|(?!\'{3})[^\\])*\'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#[^\n]*|\w+|\S''',
    re.DOTALL,
)  # of an expression: texts in quotes, comments, names and numbers, signs


def meaning_of(
    merged: MergedPolicy,
    *,
    lists: Mapping[str, bytes],
    signatures: Mapping[str, bytes],
    traps: bytes,
    scripts: Sequence[str],
) -> bytes:
    """Return what a policy means, as JSON: an object of sorts of tables, by name.

    Args:
        merged: what its files say together.
        lists: digests of the files of local lists, by the names of the lists.
        signatures: the same of lists of signatures.
        traps: digest of all traps.
        scripts: what each script says, without comments and white space.
    """
    rules = {
        rule.name: {
            # which function is whose stands in the script
            **_fields(rule, {"when", "score", "group"}),
            **({} if rule.scripted else {"when": plain(rule.when)}),
            "score": plain(rule.score) if isinstance(rule.score, str) else float(rule.score),
        }
        for rule in merged.rules
        if rule.enabled
    }
    local = {
        entry.name: {
            **_fields(entry, {"entries", "file"}),
            "entries": sorted(merged.lists.get(f"local_list.{entry.name}.entries", ())),
            "file": lists[entry.name].hex() if entry.name in lists else "",
        }
        for entry in merged.local_lists
        if entry.enabled
    }
    single = {
        name: _fields(getattr(merged, name), _ELSEWHERE.get(name, ()))
        for name in SINGLE
        if name != FREE_LISTS  # what it does is in the lists that are on
    }
    meant = {
        **{name: fields for name, fields in single.items() if fields or name not in _YOUNG},
        "rule": rules,
        "condition": {
            condition.name: {"when": plain(condition.when)} for condition in merged.conditions
        },
        "cap": merged.groups.caps,
        "member": merged.groups.members,
        "dns_list": {
            dns_list.name: _fields(dns_list) for dns_list in merged.dns_lists if dns_list.enabled
        },
        "local_list": local,
        "signature": {signature.id: _fields(signature) for signature in merged.signatures},
        "brand": {
            brand.name: [
                sorted(map(" ".join, brand.called)),
                sorted(brand.domains),
                sorted(brand.mailboxes),
                *([sorted(brand.machines)] if brand.machines else []),
            ]
            for brand in merged.brands.all
        },
        "own_person": {
            person.name: [
                sorted(person.names),
                sorted(person.addresses),
                sorted(person.domains),
            ]
            for person in merged.people.all
        },
        **(
            {"limit": {limit.name: _meaning_of_limit(limit) for limit in merged.limits}}
            if merged.limits
            else {}
        ),
        **(
            {"flow_limit": {limit.name: _meaning_of_limit(limit) for limit in merged.flow_limits}}
            if merged.flow_limits
            else {}
        ),
        "account_test": {
            test.name: {
                **_fields(test, {"when"}),
                "when": plain(test.when),
                "lasts_s": merged.account_tests.lasts_s[test.name],
            }
            for test in merged.account_tests.rules
            if test.enabled
        },
        **_meaning_of_events(merged.events),
        "signature_list": {
            source.pattern.id: {
                **_fields(source.pattern),
                "file": signatures[source.pattern.id].hex(),
            }
            for source in merged.signature_lists
        },
        "trapped": {"all": traps.hex()},
        "script": {hashlib.sha256(script.encode()).hexdigest(): {} for script in scripts},
    }
    plainly = msgspec.to_builtins(meant, str_keys=True, order="deterministic")
    return msgspec.json.encode(plainly, order="deterministic")


def _meaning_of_limit(limit: Limit | FlowLimit) -> dict[str, Any]:
    """Return what a limit means; its compiled expressions are what their texts are."""
    return {
        **_fields(limit, {"limit", "unless", "most", "excused", "asks_past"}),
        "limit": plain(limit.limit) if isinstance(limit.limit, str) else float(limit.limit),
        "unless": plain(limit.unless),
    }


def _meaning_of_events(events: EventPolicy) -> dict[str, Any]:
    """Return what the tables of event logs mean; nothing where there are none."""
    meant = {
        "event_list": {name: sorted(texts) for name, texts in events.lists.items()},
        "event_rule": {
            rule.name: {**_fields(rule, {"when"}), "log": log, "when": plain(rule.when)}
            for log, rules in events.rules_over.items()
            for rule in rules
            if rule.enabled
        },
    }
    return {sort: tables for sort, tables in meant.items() if tables}


def version_of(meaning: bytes) -> str:
    """Return the version of a policy that means this."""
    return hashlib.sha256(_FORMAT + meaning).hexdigest()[:LENGTH]


def plain(expression: str) -> str:
    """Return an expression without comments, its pieces with one space between."""
    return " ".join(piece for piece in _PIECES.findall(expression) if piece[0] != "#")


def _fields(fields: msgspec.Struct, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a table that say something, by name."""
    return {
        name: value
        for name, default in _defaults(type(fields)).items()
        if name not in without and (value := getattr(fields, name)) != default
    }


@cache
def _defaults(of: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the defaults of a table's fields, notes left out.

    What has none is unlike any value.
    """
    return {
        field.name: field.default
        if field.default_factory is msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(of)
        if field.name not in _NOTES
    }
