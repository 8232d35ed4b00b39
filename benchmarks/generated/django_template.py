"""Django's template language, as far as mails use it.

Blocks, translations, the first branch of each condition, one turn of each loop; what a variable is
called by its last part.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_TOKEN: Final = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", re.DOTALL)
_VARIABLE: Final = re.compile(r"\{\{\s*([\w.]+)[^}]*\}\}")
_WITH: Final = re.compile(r"(\w+)=([\w.]+)")
_QUOTED: Final = re.compile(r"""["'](.*)["']""", re.DOTALL)


class DjangoTemplate:
    """Mails in Django's template language."""

    def __init__(
        self, root: Path, words: gettext.NullTranslations, values: Mapping[str, str]
    ) -> None:
        self._root = root
        self._words = words
        self._values = values
        self._blocks: dict[str, str] = {}
        self._tokens: list[str] = []
        self._at = 0

    def of(self, path: Path) -> str:
        """Return the text that a template makes."""
        self._tokens = _TOKEN.split((self._root / path).read_text("utf-8"))
        self._at = 0
        parent = re.search(r'\{% extends "(.*?)"', "".join(self._tokens))
        text = self._until()
        return self.of(Path(parent[1])) if parent else text

    def _until(self, *ends: str) -> str:
        said = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if not token.startswith(("{%", "{{", "{#")):
                said.append(token)
            elif token.startswith("{{"):
                said.append(_VARIABLE.sub(lambda name: self._value(name[1]), token))
            elif token.startswith("{%"):
                tag = token[2:-2].split()
                if tag[0] in ends:
                    break
                said.append(self._tag(tag, token))
        return "".join(said)

    def _tag(self, tag: list[str], token: str) -> str:
        match tag[0]:
            case "block":
                inner = self._until("endblock")
                return self._blocks.setdefault(tag[1], inner)
            case "blocktrans" | "blocktranslate":
                return self._translated(dict(_WITH.findall(token)))
            case "trans" | "translate":
                quoted = _QUOTED.search(token)
                return self._words.gettext(quoted[1]) if quoted else ""
            case "if":
                return self._branch()
            case "for":
                return self._until("endfor")
            case "comment":
                _ = self._until("endcomment")
                return ""
            case "absolute_url" | "url":
                return "" if "as" in tag else self._value("url")
            case _:
                return ""

    def _branch(self) -> str:
        before = self._at
        kept = self._until("else", "elif", "endif")
        if not self._tokens[self._at - 1].startswith(("{% endif", "{%endif")):
            _ = self._until("endif")
        return kept if self._at > before else ""

    def _translated(self, named: Mapping[str, str]) -> str:
        inner = []
        while not self._tokens[self._at].startswith(("{% endblocktrans", "{% endblocktranslate")):
            inner.append(self._tokens[self._at])
            self._at += 1
        self._at += 1
        known = _VARIABLE.sub(r"%(\1)s", "".join(inner))
        words = self._words.gettext(known)
        return re.sub(
            r"%\(([\w.]+)\)s", lambda name: self._value(named.get(name[1], name[1])), words
        )

    def _value(self, name: str) -> str:
        path, _, last = name.rpartition(".")
        if path.endswith("site"):
            last = f"site_{last}"
        return self._values.get(last, self._values["other"])
