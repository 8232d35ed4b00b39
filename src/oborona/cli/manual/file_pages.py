"""The man pages of the files that an admin writes: oborona.toml(5) and oborona-policy(5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from oborona.cli.manual import roff
from oborona.config import document
from oborona.config.settings import SECTIONS
from oborona.policy.checks import FINDINGS
from oborona.policy.expression import REFERENCE, Fact
from oborona.policy.fact_table import AREAS, NAMES, SCHEMA
from oborona.policy.file_schema import file_schema

SECTION: Final = 5
SETTINGS_EXAMPLE: Final = """\
[doors.milter]
listen = "unix:/var/spool/postfix/oborona/milter.sock"
socket_group = "postfix"
"""
POLICY_EXAMPLE: Final = """\
# /etc/oborona/policy.d/90-local.toml
[[rule]]                       # another score for a rule that ships
name  = "MASS_TEXT"
score = 40

[[rule]]                       # a rule of yours, on trial
name  = "CRYPTO_FROM_STRANGERS"
when  = 'count[FromDomain].fortnight.seen == 0 and matches(text, r"(?i)\\bbitcoin\\b")'
score = 40
mode  = "shadow"
"""


def settings_page() -> str:
    """Return oborona.toml(5)."""
    return roff.page("oborona.toml", SECTION, "settings of Oborona", _settings())


def policy_page() -> str:
    """Return oborona-policy(5)."""
    return roff.page(
        "oborona-policy", SECTION, "files of Oborona's rules, lists and scores", _policy()
    )


def _settings() -> Iterator[str]:
    yield ".SH SYNOPSIS"
    yield roff.bold("/etc/oborona/oborona.toml")
    yield ".SH DESCRIPTION"
    yield roff.prose(
        "A TOML file that says where things listen and lie, and how much of the machine they take. "
        "What it leaves out has its default; the command line (`--set`) wins over it. Unknown keys "
        "and values out of range refuse the start. A change needs a restart."
    )
    yield ".SH SETTINGS"
    for section in SECTIONS:
        yield f".SS {roff.escaped(f'[{section}]')}"
        yield roff.prose(document.summary(section))
        for entry in document.entries(section):
            yield from roff.tagged(
                roff.bold(f"{entry.key} = {entry.default}"),
                roff.prose(entry.meaning),
                roff.prose(f"Allowed: {entry.allowed}."),
            )
    yield ".SH EXAMPLES"
    yield from roff.literal(SETTINGS_EXAMPLE)
    yield from _see_also("oborona(1)", "oborona-policy(5)", "oborona-policy-show(1)")


def _policy() -> Iterator[str]:
    yield ".SH SYNOPSIS"
    yield roff.bold("/etc/oborona/policy.d/*.toml")
    yield ".SH DESCRIPTION"
    yield roff.prose(
        "The policy decides about mail. What ships is read first, then the files of the site, each "
        "in the order of their names. To change a rule, list or setting that ships, name it again "
        "in a file of yours. A change takes effect within a second, or not at all: a broken file "
        "never replaces a good policy. `oborona policy check` looks at all of it."
    )
    yield ".SH TABLES"
    schema = file_schema(SCHEMA)
    for name, told in schema["properties"].items():
        several = told.get("type") == "array"
        table = _meant(told["items"] if several else told, schema["$defs"])
        yield f".SS {roff.escaped(f'[[{name}]]' if several else f'[{name}]')}"
        yield roff.prose(_first_paragraph(table))
        for key, key_told in table.get("properties", {}).items():
            yield from _key(key, key_told, schema["$defs"])
    yield ".SH FACTS"
    yield roff.prose("What conditions of rules may name.")
    for area, facts in AREAS.items():
        yield f".SS {roff.escaped(area.value)}"
        for fact in facts:
            yield from _fact(fact)
    yield ".SH COUNTS"
    yield roff.prose(
        "`count[TYPE].WINDOW.METRIC` is how often something like this message was seen, by TYPE: "
        f"{', '.join(NAMES)}."
    )
    yield ".SH FUNCTIONS"
    for function in REFERENCE.values():
        yield from roff.tagged(roff.bold(function.signature), roff.prose(function.doc))
    yield ".SH FINDINGS"
    yield roff.prose("For `found('NAME')`, of checks.")
    for name, meaning in FINDINGS.items():
        yield from roff.tagged(roff.bold(name), roff.prose(meaning))
    yield ".SH EXAMPLES"
    yield from roff.literal(POLICY_EXAMPLE)
    yield from _see_also("oborona-policy(1)", "oborona-policy-check(1)", "oborona.toml(5)")


def _key(key: str, told: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    meant = _meant(told, definitions)
    default = told.get("default")
    tag = key if default in (None, [], {}) else f"{key} = {json.dumps(default, ensure_ascii=False)}"
    one_of = ", ".join(str(value) for value in meant.get("enum", ()))
    yield from roff.tagged(
        roff.bold(tag),
        roff.prose(_first_paragraph(told) or _first_paragraph(meant)),
        roff.prose(f"One of: {one_of}." if one_of else ""),
    )


def _fact(fact: Fact) -> Iterator[str]:
    kind = f"{fact.kind.value}{', or none' if fact.optional else ''}, from {fact.stage}"
    yield from roff.tagged(roff.bold(fact.name), roff.prose(fact.doc), roff.prose(f"{kind}."))


def _meant(told: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part of a schema stands for: not the choice of it or null, nor its name."""
    choices = [choice for choice in told.get("anyOf", ()) if choice.get("type") != "null"]
    if choices:
        return _meant(choices[0], definitions)
    if "$ref" in told:
        named: Mapping[str, Any] = definitions[told["$ref"].rpartition("/")[2]]
        return named
    return told


def _first_paragraph(told: Mapping[str, Any]) -> str:
    """Return what is told of a part of a schema, without the lists that editors show below."""
    return str(told.get("description", "")).partition("\n\n")[0]


def _see_also(*pages: str) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ", ".join(roff.escaped(page) for page in pages)
