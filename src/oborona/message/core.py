"""What of texts the native core does where it was built, and its twins in Python otherwise: the
same results (docs/adr/0063-a-native-core.md).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from oborona.message.line_marks import marked_lines
from oborona.message.text_form import fold_ascii, fold_lines, linked_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from oborona._core import Hints as NativeHints

    count_words: Callable[[str], int] | None
    said_words: Callable[[str], list[str]] | None
    native_broken_source: Callable[[str], str | None] | None
    template_words: Callable[[str, frozenset[str]], list[str] | None] | None
    Hints: type[NativeHints] | None
else:
    Hints = count_words = native_broken_source = said_words = template_words = None
    with suppress(ImportError):  # where it could not be built, its twins do the same
        from oborona._core import (
            Hints,
            count_words,
            fold_ascii,
            fold_lines,
            linked_words,
            marked_lines,
            said_words,
            template_words,
        )
        from oborona._core import broken_source as native_broken_source

__all__ = [
    "Hints",
    "count_words",
    "fold_ascii",
    "fold_lines",
    "linked_words",
    "marked_lines",
    "native_broken_source",
    "said_words",
    "template_words",
]
