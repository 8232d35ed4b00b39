"""What must hold of the native core's passes over texts: they give what their twins in Python do,
or leave it to them.
"""

from __future__ import annotations

from oborona.message import (
    core,
    defanged_links,
    entities,
    handles,
    html_breaks,
    line_marks,
    phones,
    templates,
    text_form,
    wallets,
    word_count,
)
from oborona.message.findings import Findings
from oborona.message.normalise import normalise
from tests.fuzz.common import text_of

MOST_LINES = 50


def both_ways(octets: bytes) -> None:
    """A text as it stands and in its normal form is read alike by both; what the hints rule out is
    not found without them.

    Without the native core only the latter is looked at.
    """
    text = text_of(octets)
    for each in (text, normalise(text)):
        assert core.fold_ascii(each) == text_form.fold_ascii(each)
        assert core.fold_lines(each) == text_form.fold_lines(each)
        assert core.linked_words(each) == text_form.linked_words(each)
        lines = line_marks.marked_lines(each, MOST_LINES)
        assert core.marked_lines(each, MOST_LINES) == lines
        if core.native_broken_source is not None:
            broken = core.native_broken_source(each)
            assert broken in (None, html_breaks.broken_source(each))
        if core.template_words is not None:
            words = core.template_words(each, frozenset({"a"}))
            assert words in (None, templates.words_by_python(each, frozenset({"a"})))
        if core.said_words is not None and core.count_words is not None:
            assert core.said_words(each) == word_count.words_by_python(each)
            assert core.count_words(each) == len(word_count.words_by_python(each))
    _hinted(normalise(text))


def _hinted(normal: str) -> None:
    hints = entities.hints(normal)
    if not hints & entities.Hint.DISGUISE:
        assert defanged_links.read(normal, 9) == ([], [])
    if not hints & entities.Hint.NAME:
        assert handles.in_text(normal) == []
    if not hints & (entities.Hint.SPELLED_NUMBER | entities.Hint.DIALLED):
        assert phones.in_text(normal, (), Findings()) == []
    if not hints:
        assert wallets.in_text(normal, Findings()) == []
