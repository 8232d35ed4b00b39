"""Every word that ships can be found: each literal and each alternative of each pattern has a text,
sent as people write it, in which it hits.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from oborona.message.parse import parse
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.pattern_parser import tree_of
from oborona.policy.expression.pattern_tree import (
    CharacterSet,
    PatternAlternation,
    PatternRepeat,
    PatternSequence,
    PatternText,
    TextEdge,
    Tree,
    WordBorder,
)
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.syntax import ExpressionSource
from oborona.policy.expression.syntax import parse as parse_expression
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.scripts.source import source
from oborona.policy.signatures.book import SignatureBook
from oborona.policy.signatures.model import SignatureKind as Sort
from tests.policy.written import fires, letter

SHIPPED = Path(__file__).parents[2] / "etc/policy.d"
IN_LETTERS = {"text": "text", "subject": "subject", "from.name": "name", "mailer": "mailer"}
PHRASES = 60  # in one letter


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load_policy(SHIPPED, SCHEMA)


def witnesses(tree: Tree) -> list[str]:
    """Return texts such that each alternative and each member of a small class stands in one of
    them.
    """
    match tree:
        case PatternText(text):
            return [text]
        case CharacterSet():
            return [chr(code) for code in _members(tree)]
        case TextEdge() | WordBorder():
            return [""]
        case PatternAlternation(options):
            return [text for one in options for text in witnesses(one)]
        case PatternRepeat(item, least):
            return [text * max(least, 1) for text in witnesses(item)] + ([""] if not least else [])
        case PatternSequence(items):
            several = [witnesses(one) for one in items]
            longest = max(map(len, several), default=1)
            return [
                "".join(some[min(n, len(some) - 1)] for some in several) for n in range(longest)
            ]


def _members(one: CharacterSet) -> list[int]:
    usual = [*range(ord("a"), ord("z") + 1), *range(ord("0"), ord("9") + 1), ord("."), ord("-")]
    if one.negated or one.names:
        return [
            code for code in usual if not any(first <= code <= last for first, last in one.ranges)
        ][:1]
    return [code for first, last in one.ranges for code in range(first, min(last, first + 40) + 1)]


def asked(when: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each comparison of a fact with texts, as a condition of its own, with the fact and
    texts that it should hit.
    """
    tree, written = parse_expression(when)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            function, fact, given = node.func.id, _name(node.args[0], written), _texts(node.args[1])
            if fact in SCHEMA.by_name and given:
                for text in given:
                    condition = f"{function}({fact}, {text!r})"
                    if function == "matches":
                        yield fact, condition, witnesses(tree_of(text))
                    elif function in ("startswith", "endswith", "contains"):
                        as_sent = SCHEMA.by_name[fact].form is TextForm.SENT
                        yield fact, condition, [text] if as_sent else [text, text.upper()]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            for one, other in ((left, right), (right, left)):
                fact, given = _name(one, written), _texts(other)
                if (
                    fact in SCHEMA.by_name
                    and given
                    and SCHEMA.by_name[fact].kind in (PieceKind.TEXT, PieceKind.SET)
                ):
                    sign = "in" if SCHEMA.by_name[fact].kind is PieceKind.SET else "=="
                    for text in filter(None, given):
                        yield fact, f"{text!r} {sign} {fact}", [text]


def _name(node: ast.AST, written: ExpressionSource) -> str:
    return (
        written.text[written.index(node) : written.end(node)] if isinstance(node, ast.expr) else ""
    )


def _texts(node: ast.AST) -> list[str]:
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return [
        one.value for one in items if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def hits(fact: str, condition: str, text: str) -> bool:
    """Tell whether a condition holds for a message that has a text, in one of the ways in which it
    may stand there.
    """
    kind, form = SCHEMA.by_name[fact].kind, SCHEMA.by_name[fact].form
    if fact in IN_LETTERS:  # between other words, and alone
        return any(
            fires(condition, letter(**{IN_LETTERS[fact]: before + text + behind}))
            for before in ("", "x ", "x")
            for behind in ("", " y", "y")
        )
    value = form.whole(text)
    facts = SimpleNamespace(
        **{SCHEMA.by_name[fact].attribute: frozenset({value}) if kind is PieceKind.SET else value}
    )
    return fires(condition, facts)


def test_each_alternative_of_each_rule_can_hit(shipped: Policy) -> None:
    texts = [*(one.when for one in shipped.rules), *(one.when for one in shipped.conditions)]
    every = dict.fromkeys(
        (fact, condition, text)
        for when in texts
        for fact, condition, found in asked(when)
        for text in found
    )
    assert len(every) > 400
    assert [one for one in every if not hits(*one)] == []


def test_each_phrase_of_each_list_can_hit(shipped: Policy) -> None:
    some = list(shipped.signatures.values())
    assert {one.kind for one in some} <= {Sort.PHRASE, Sort.DOMAIN}
    assert len(some) > 4_000
    book = SignatureBook.of(some)
    missed = []
    for change in (str, str.upper):
        for start in range(0, len(some), PHRASES):
            few = some[start : start + PHRASES]
            lines = [
                change(f"https://a.{one.value}/" if one.kind is Sort.DOMAIN else one.value)
                for one in few
            ]
            text = "".join(f"{line}.\n" for line in lines)
            message = parse(
                f"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n{text}".encode()
            )
            found = {one.id for one in book.find(message, 0.0).signatures}
            missed += [one.value for one in few if one.id not in found]
    assert missed == []


def test_no_rule_that_ships_is_a_script() -> None:
    """Or its words have to be looked at here, too."""
    for file in SHIPPED.glob("*.lua"):
        assert not source(file.read_bytes(), str(file), SCHEMA).meant
