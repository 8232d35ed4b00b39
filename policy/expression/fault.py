"""What is wrong with an expression, and at which character."""

from __future__ import annotations


class ExpressionFault(Exception):  # noqa: N818 - inside this package only; it leaves as a PolicyError with file and line
    """An expression or template that cannot be used.

    Args:
        problem: what is wrong and what would be right.
        index: the character of the text, 0-based.
    """

    def __init__(self, problem: str, index: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index


class PatternError(ValueError):
    """A pattern that can't be used; the text says why, and what to write instead."""
