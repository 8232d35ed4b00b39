"""The name in From is a well-known firm's, and the address is not of that firm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from oborona.domains import registrable
from oborona.message.normalise import normalise
from oborona.policy.checks.context import Context
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "brand-in-name"

LOOKED_AT: Final = 100  # characters of a name: what a screen shows of it
_WORDS: Final = re.compile(r"[^\w]+")


def _load() -> tuple[Mapping[str, frozenset[str]], frozenset[str]]:
    """Return brands with their labels, and the words that stand beside a brand and change nothing."""
    brands: dict[str, frozenset[str]] = {}
    beside: frozenset[str] = frozenset()
    for line in files("oborona.policy.checks").joinpath("brands.tsv").read_text("utf-8").splitlines():
        name, _, labels = line.partition("\t")
        if name == "*":
            beside = frozenset(normalise(labels).split())
        elif name and not name.startswith("#"):
            brands[" ".join(_WORDS.split(normalise(name)))] = frozenset(labels.split())
    return brands, beside


_BRANDS, _BESIDE = _load()


def check(context: Context) -> Finding | None:
    """Return a finding with name and address.

    The name must be the brand and nothing else but words such as "support" or "security": people and small firms are called like parts of brands. Whoever has
    one of the brand's labels just before the public suffix of his domain, under whatever suffix, is taken for the brand.
    """
    box = context.message.from_
    if box is None or not box.domain or not box.name:
        return None
    words = [word for word in _WORDS.split(normalise(box.name[:LOOKED_AT])) if word and word not in _BESIDE]
    labels = _BRANDS.get(" ".join(words))
    if labels is None or registrable(box.domain).partition(".")[0] in labels:
        return None
    return Finding(SLUG, quoted(f"{box.name} <{box.address}>", 160))
