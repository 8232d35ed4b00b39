"""What a console's process has from its parent, so that it is the same after a rest, and there at
once: templates take most of a second to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oborona.console.declaration import PageDeclaration
from oborona.console.form_token import FormTokens
from oborona.console.language import Language, load_languages
from oborona.console.page_list import load_pages
from oborona.console.static_files import StaticFiles
from oborona.console.template_set import TemplateSet


class LastingParts(NamedTuple):
    """Parts that no request changes.

    Args:
        tokens: of forms.
        static: files.
        templates: of pages.
        pages: all there are.
        languages: by their codes.
    """

    tokens: FormTokens
    static: StaticFiles
    templates: TemplateSet
    pages: Sequence[PageDeclaration]
    languages: Mapping[str, Language]


def lasting_parts(*, pseudo: bool = False) -> LastingParts:
    """Return new ones.

    Args:
        pseudo: with a language for tests.
    """
    static = StaticFiles()
    return LastingParts(
        tokens=FormTokens(),
        static=static,
        templates=TemplateSet(static),
        pages=load_pages(),
        languages=load_languages(pseudo=pseudo),
    )
