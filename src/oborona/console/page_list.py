"""All pages: each module of `oborona.console.pages` declares its own when it is imported."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from oborona.console import pages
from oborona.console.declaration import PAGES, PageDeclaration


def load_pages() -> tuple[PageDeclaration, ...]:
    """Return every page."""
    for module in iter_modules(pages.__path__, f"{pages.__name__}."):
        import_module(module.name)
    return tuple(PAGES)
