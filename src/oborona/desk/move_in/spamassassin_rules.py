"""SpamAssassin's own rules of a site: those with one regular expression become rules on trial."""

from __future__ import annotations

import re
from typing import Final

from oborona.desk.move_in.perl_patterns import TheirPattern, pattern_of
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.sources import SourceLine
from oborona.policy.signatures import SignatureKind
from oborona.policy.signatures.model import SignatureScope

A_POINT: Final = 20.0  # points of ours for one of theirs: 5 are spam there, 100 here
_HEADER: Final = re.compile(r"(?P<name>[\w-]+)(?::(?P<part>\w+))?\s*(?P<how>=~|!~)\s*(?P<rest>.*)")
_EXISTS: Final = re.compile(r"exists:(?P<name>[\w-]+)\s*$")
_DETAIL: Final = re.compile(r"(?P<key>\w+)\s*(?P<how>=~|!~)\s*(?P<rest>.*)")
_HOST: Final = re.compile(
    r"\^?(?:https\?:(?:/|\/){2}|https?:(?:/|\/){2}|(?:/|\/){2}|\b|@|\\.|\(\?:\^\|\\.\))?"
    r"(?:www\\.)?(?P<host>[a-z0-9-]+(?:\\.[a-z0-9-]+)+)(?:\b|/|\/|\$|\(\?:/\|\$\))?",
    re.IGNORECASE,
)
_FACTS: Final = {
    ("subject", None): "subject.raw",
    ("subject", "raw"): "subject.raw",
    ("from", "addr"): "from.address",
    ("from", "name"): "from.name.raw",
    ("envelopefrom", None): "sender",
    ("envelopefrom", "addr"): "sender",
}
"""Header and part → the fact that has it."""
_MADE_UP: Final = frozenset(
    {"all", "tocc", "messageid"} | {f"x-spam-relays-{kind}" for kind in ("trusted", "untrusted", "internal", "external")}
)  # fmt: skip
_BESIDE: Final = frozenset({"describe", "score", "tflags", "priority", "test", "reuse", "lang"})
_WHY: Final = {
    "full": "full: a rule here sees the text and named headers, not the source of a message",
    "rawbody": "rawbody: a rule here sees the text as a reader does",
    "mimeheader": "mimeheader: headers of parts are no facts of rules",
    "meta": "meta: a rule of rules, whose parts have other names here: write it with fired()",
}


class SpamAssassinRules:
    """Rules as they come, line by line: a score may stand before its rule.

    Args:
        plan: takes what becomes of them.
    """

    def __init__(self, plan: MovePlan) -> None:
        self._plan = plan
        self._tests: dict[str, tuple[SourceLine, str, str]] = {}
        self._scores: dict[str, float] = {}
        self._say: dict[str, str] = {}
        self._beside: list[tuple[SourceLine, str]] = []

    def take(self, line: SourceLine, word: str, rest: str) -> None:
        """Take a line of a rule; of two of one name the later holds, as there."""
        name, _, test = rest.replace("\t", " ").partition(" ")
        test = test.strip()
        if word not in _BESIDE:
            if name in self._tests:
                former = self._tests[name][0]
                self._plan.leave(former.place, former.text, f"{line.place} says it anew")
            self._tests[name] = (line, word, test)
            return
        self._beside.append((line, name))
        if word == "score":
            try:
                self._scores[name] = float(test.split()[-1])
            except (ValueError, IndexError):
                self._scores.pop(name, None)
        elif word == "describe":
            self._say[name] = test

    def end(self) -> None:
        """Make rules of what was taken."""
        made = {
            name
            for name, (line, word, test) in self._tests.items()
            if self._make(name, line, word, test)
        }
        for line, name in self._beside:
            if name in made:
                self._plan.carried.add(line.place)
            else:
                why = (
                    "belongs to a rule that is not carried over"
                    if name in self._tests
                    else "scores and words of rules of theirs: other rules stand here"
                )
                self._plan.leave(line.place, line.text, why)

    def _make(self, name: str, line: SourceLine, word: str, test: str) -> bool:
        if word in _WHY:
            self._plan.leave(line.place, line.text, _WHY[word])
            return False
        try:
            if word == "header":
                return self._header(name, line, test)
            if word == "uri_detail":
                return self._rule(name, line, _detail(test))
            pattern = _alone(test)
            if word == "uri":
                return self._rule(name, line, _link(pattern))
            return self._rule(name, line, f"matches(text.raw, {pattern.text!r})")
        except ValueError as fault:
            self._plan.leave(line.place, line.text, str(fault))
            return False

    def _header(self, name: str, line: SourceLine, test: str) -> bool:
        if (there := _EXISTS.match(test)) is not None:
            return self._rule(name, line, f"{there['name'].lower()!r} in headers")
        found = _HEADER.match(test)
        if found is None:
            raise ValueError("a test in Perl of a plug-in, which is not run")
        header, part = found["name"].lower(), found["part"]
        pattern = _alone(found["rest"])
        fact = _FACTS.get((header, part))
        no = "not " if found["how"] == "!~" else ""
        if fact is not None:
            return self._rule(name, line, f"{no}matches({fact}, {pattern.text!r})")
        if header == "from" and part is None and not pattern.anchored:
            either = " or ".join(
                f"matches({one}, {pattern.text!r})" for one in ("from.address", "from.name.raw")
            )
            return self._rule(name, line, f"{no}({either})")
        if header in _MADE_UP or part or no:
            raise ValueError(f"{found['name']}: no fact of rules has it")
        self._plan.tell(
            "rules about other headers become signatures on trial: capitals and look-alikes are "
            "the same letter there"
        )
        anchor = "" if pattern.anchored else ".*"
        body = re.sub(r"\A(\(\?[ims]+\))?(?:\^|\\A)", r"\1", pattern.text)
        return self._plan.sign(
            rf"^{re.escape(header)}: {anchor}(?:{body})",
            line.place,
            kind=SignatureKind.PATTERN,
            where=SignatureScope.HEADER,
            reason=self._say.get(name, name),
        )

    def _rule(self, name: str, line: SourceLine, when: str) -> bool:
        if name.startswith("__"):
            raise ValueError("a part of other rules (its name begins with __), without a score")
        score = self._scores.get(name, 1.0)
        say = self._say.get(name, name)
        return self._plan.rule(name, when, score * A_POINT, say, line.place)


def _alone(text: str) -> TheirPattern:
    """Return the pattern that a text is.

    Raises:
        ValueError: it is none, or more.
    """
    pattern = pattern_of(text)
    if pattern.rest:
        raise ValueError(f"{pattern.rest[:40]!a} behind the pattern is not known here")
    return pattern


def _detail(test: str) -> str:
    """Return the condition of a `uri_detail` with one test."""
    found = _DETAIL.fullmatch(test)
    fact = {"domain": "links.domains", "host": "links.hosts"}.get(found["key"] if found else "")
    if found is None or fact is None or found["how"] == "!~":
        raise ValueError("of a link a rule here sees its host and domain, one test a rule")
    return f"any_of({fact}, matches(it, {_alone(found['rest']).text!r}))"


def _link(pattern: TheirPattern) -> str:
    """Return the condition of a `uri` rule whose pattern is a host name."""
    found = _HOST.fullmatch(pattern.body)
    if found is None:
        raise ValueError(
            "of a link a rule here sees host and domain, not all of it: "
            "`oborona signature add --kind url`"
        )
    host = found["host"].replace("\\", "").lower()
    return f"any_of(links.hosts, it == {host!r} or endswith(it, {'.' + host!r}))"
