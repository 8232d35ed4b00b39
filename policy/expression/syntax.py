"""Text to syntax tree: Python's own parser in expression mode, behind limits.

Python's parser is the grammar; `check` says which of it may be used. Here stand the limits that
keep the parser and everything after it small: length before parsing, depth after. Line ends and
comments inside an expression are allowed (long conditions are written over several lines), which
the wrapping in parentheses gives.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.schema import KEYWORD_FACT

MAX_LENGTH = 2_000  # characters; the longest rule of large published rule sets is below half of it
# levels of the tree; code generated from it stays far below the 200 parentheses Python allows
MAX_DEPTH = 40


# `from.domain` is no Python, so the parser gets a name of the same length instead.
STAND_IN = "_rom"
_PASSED = (
    r'''(?:"""(?:\\.|(?!""")[^\\])*"""'''
    r"|'{3}(?:\\.|(?!'{3})[^\\])*'{3}"
    r"""|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#[^\n]*)"""
)  # texts in quotes, and comments
_FROM = re.compile(
    rf"{_PASSED}|(?<![\w.])(?P<word>{KEYWORD_FACT})(?=[ \t\n]*\.)",
    re.DOTALL,
)
_MEANT = {
    "&&": "and",
    "||": "or",
    "!": "not",
    "<>": "!=",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "[from]": "[From]",
}
_OTHER = re.compile(
    rf"{_PASSED}|(?P<sign>&&|\|\||!(?!=)|<>|\b(?:AND|OR|NOT)\b|\[from\])", re.DOTALL
)


class ExpressionSource:
    """One expression's text; it turns the tree's positions into characters of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")

    def index(self, node: ast.AST) -> int:
        """Return the 0-based character at which a node begins."""
        return self._index(getattr(node, "lineno", 2), getattr(node, "col_offset", 0))

    def end(self, node: ast.expr) -> int:
        """Return the 0-based character after a node."""
        return self._index(node.end_lineno or 2, node.end_col_offset or 0)

    def _index(self, line: int, offset: int) -> int:
        row = line - 2  # the wrapping parenthesis has a line of its own
        if not 0 <= row < len(self._lines):
            return 0 if row < 0 else len(self.text)
        before = sum(len(earlier) + 1 for earlier in self._lines[:row])
        return before + len(self._lines[row].encode()[:offset].decode("utf-8", "ignore"))


def parse(text: str) -> tuple[ast.expr, ExpressionSource]:
    """Return the tree of an expression.

    Raises:
        Fault: empty, too long, too deep, no expression; never anything else.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionFault(
            (f"the expression is {len(text)} characters long; at most {MAX_LENGTH} are allowed"),
            MAX_LENGTH,
        )
    for index, letter in enumerate(text):
        if (letter < " " and letter not in "\n\t") or "\ud800" <= letter <= "\udfff":
            raise ExpressionFault(f"control character U+{ord(letter):04X} in the expression", index)
    source = ExpressionSource(text)
    replaced = _FROM.sub(lambda match: STAND_IN if match["word"] else match[0], text)
    tree = _parse(f"(\n{replaced}\n)", source)
    _check_depth(tree, source)
    return tree, source


def _parse(wrapped: str, source: ExpressionSource) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error"
            )  # "\d" in a plain string is a warning to Python, and a trap in a pattern
            tree = ast.parse(wrapped, mode="eval").body
    except SyntaxError as fault:
        raise _other_language(source.text) or ExpressionFault(
            _words(fault), _at(fault, source)
        ) from None
    except (MemoryError, RecursionError):
        raise ExpressionFault(
            f"nested too deeply; at most {MAX_DEPTH} levels are allowed"
        ) from None
    except (ValueError, OverflowError, Warning) as fault:
        raise ExpressionFault(f"not an expression: {fault}") from None
    if isinstance(tree, ast.Tuple) and not tree.elts and tree.lineno == 1:
        raise ExpressionFault("the expression is empty")
    # what begins in the first line begins with the parenthesis that was put there: a tuple does,
    # and what closes it early
    if tree.lineno == 1 and (index := _closes_early(wrapped)) is not None:
        raise ExpressionFault("unmatched ')'", index)
    return tree


def _other_language(text: str) -> ExpressionFault | None:
    """Return what to write for a sign that other languages have, None where there is none."""
    for match in _OTHER.finditer(text):
        if sign := match["sign"]:
            return ExpressionFault(f"write {_MEANT[sign]} instead of {sign}", match.start())
    return None


def _words(fault: SyntaxError) -> str:
    words = fault.msg or "not an expression"
    if "escape sequence" in words:
        return 'unknown escape sequence; write the text as r"..."'
    if ":=" in words or "Maybe you meant '=='" in words:
        return "a single = compares nothing; write =="
    return words


def _at(fault: SyntaxError, source: ExpressionSource) -> int:
    row = (fault.lineno or 2) - 2
    lines = source.text.split("\n")
    if row < 0:
        return 0
    before = sum(len(line) + 1 for line in lines[:row])
    return min(before + max((fault.offset or 1) - 1, 0), len(source.text))


def _closes_early(wrapped: str) -> int | None:
    """Return where a text such as `a) or (b` closes the parenthesis that was put around it."""
    depth = 0
    offsets = [0]
    for line in wrapped.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    try:
        for token in tokenize.generate_tokens(io.StringIO(wrapped).readline):
            if token.type != tokenize.OP:
                continue
            depth += (token.string in "([{") - (token.string in ")]}")
            at = offsets[token.start[0] - 1] + token.start[1]
            if depth == 0 and at < len(wrapped) - 1:
                return at - 2
    except (tokenize.TokenError, SyntaxError):
        return 0  # the parser took what the tokenizer does not: refused as well
    return None


def _check_depth(tree: ast.expr, source: ExpressionSource) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise ExpressionFault(
        f"nested too deeply; at most {MAX_DEPTH} levels are allowed", source.index(level[0])
    )
