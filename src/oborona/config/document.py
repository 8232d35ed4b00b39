"""The sample etc/oborona.toml and docs/operate/settings.md, written from the schema.

`make docs` writes both; a test compares the files with what this gives, so that neither can drift
from the schema.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from oborona.config.settings import SECTIONS
from oborona.toml import allowed, hints, show

WIDTH: Final = 100  # columns of the sample's comments


class SettingEntry(NamedTuple):
    """One setting, in words."""

    key: str
    default: str  # as TOML writes it
    meaning: str
    allowed: str


def entries(section: str) -> Iterator[SettingEntry]:
    """Yield a section's settings in the order of the schema."""
    schema = SECTIONS[section]
    defaults = schema()
    for key, annotation in hints(schema).items():
        meaning = next(meta.description for meta in annotation.__metadata__ if meta.description)
        yield SettingEntry(key, show(getattr(defaults, key)), meaning, allowed(annotation))


def summary(section: str) -> str:
    """Return what a section is about, one line."""
    return " ".join((SECTIONS[section].__doc__ or "").split())


def sample() -> str:
    """Return etc/oborona.toml: every setting with its default, commented out."""
    lines = [
        (
            "# Settings of Oborona. What is commented out shows its default; a line here wins "
            "over it, the command"
        ),
        (
            "# line over both. Unknown keys and values out of range refuse the start. Scores "
            "and rules are policy:"
        ),
        (
            "# what ships is read from the package, what is yours from policy.d/ beside this "
            "file (docs/policy/policy.md)."
        ),
        "# This file is written from the schema: see docs/operate/settings.md.",
    ]
    for section in SECTIONS:
        lines += ["", f"# {summary(section)}", f"[{section}]"]
        for entry in entries(section):
            lines.append("")
            lines += textwrap.wrap(
                f"{entry.meaning} ({entry.allowed})",
                WIDTH,
                initial_indent="# ",
                subsequent_indent="# ",
            )
            lines.append(f"# {entry.key} = {entry.default}")
    return "\n".join(lines) + "\n"


def reference() -> str:
    """Return docs/operate/settings.md."""
    lines = [
        "# Settings",
        "",
        (
            "`etc/oborona.toml` says where things listen and lie, and how much of the machine "
            "they take. What is decided about mail"
        ),
        (
            "is in the policy files beside it. Defaults come first, then the file, then the "
            "command line; `oborona policy show"
        ),
        (
            "--origin` says where each value in force came from. Unknown keys, wrong types "
            "and values out of range refuse the"
        ),
        "start, with file, line, column and what is allowed.",
        "",
        "This page and the sample file are written from the schema (`make docs`).",
    ]
    for section in SECTIONS:
        lines += ["", f"## [{section}]", "", summary(section), ""]
        lines += ["| key | default | allowed | meaning |", "|---|---|---|---|"]
        for entry in entries(section):
            cells = (f"`{entry.key}`", f"`{entry.default}`", entry.allowed, entry.meaning)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


FILES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {"etc/oborona.toml": sample, "docs/operate/settings.md": reference}
)
