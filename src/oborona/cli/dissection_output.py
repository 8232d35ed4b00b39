"""A dissected message for people: tree, text with what was removed from it marked, tables of what
was found.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from oborona.cli.terminal import Terminal, plain
from oborona.message.dissection import (
    DissectedAttachment,
    DissectedPart,
    DissectedPicture,
    Dissection,
)
from oborona.types import RuleMode

MAX_LINES: Final = 200  # of a text; --json has all of it
MAX_WORDS: Final = 50  # read otherwise than written
MAX_CHARACTERS: Final = 120  # of what a shingle was made of


def show(console: Terminal, dissection: Dissection) -> None:
    """Print a dissection; nothing of the message reaches the terminal but what it can print."""
    console.print(Text(plain(dissection.file), style="bold"))
    console.print(_tree(dissection.tree))
    _text(console, dissection)
    if dissection.removed.respelled:
        table = _table("written", "read", title="words read otherwise than written")
        for respelling in dissection.removed.respelled[:MAX_WORDS]:
            table.add_row(*_cells(respelling.written, respelling.read))
        console.print(table)
        _more(console, len(dissection.removed.respelled), MAX_WORDS, "words")
    if dissection.entities:
        table = _table(
            "kind", "value", "place", "as found, or what stands around it", title="entities"
        )
        for entity in dissection.entities:
            around = [entity.raw, f'shown "{entity.shown}"' if entity.shown else "", f"in {entity.through}" if entity.through else "", f"user {entity.user}" if entity.user else ""]  # fmt: skip
            table.add_row(
                *_cells(entity.kind, entity.value, entity.place, " ".join(filter(None, around)))
            )
        console.print(table)
    if dissection.attachments:
        console.print(_attachments(dissection.attachments))
    if dissection.pictures:
        console.print(_pictures(dissection.pictures))
    _shingles(console, dissection)
    if dissection.signatures:
        table = _table("signature", "marks", "what", "owner", "why", title="signatures")
        for marked in dissection.signatures:
            marks = f"{marked.flag}{' (shadow)' if marked.mode == RuleMode.SHADOW else ''}"
            table.add_row(
                *_cells(
                    marked.id, marks, f"{marked.kind} {marked.value}", marked.owner, marked.reason
                )
            )
        console.print(table)
    if dissection.findings:
        table = _table("finding", "evidence", "meaning", title="findings")
        for finding in dissection.findings:
            table.add_row(*_cells(finding.name, finding.evidence, finding.meaning))
        console.print(table)


def _tree(root: DissectedPart) -> Tree:
    top = Tree(_label(root))
    rows = [(top, root)]
    while rows:
        branch, node = rows.pop()
        rows += [(branch.add(_label(child)), child) for child in node.children]
    return top


def _label(node: DissectedPart) -> Text:
    parts = [node.path, node.type, node.charset, node.encoding, node.disposition]
    return Text(plain(" ".join([*filter(None, parts), f"{node.size} octets", node.name]).rstrip()))


def _text(console: Terminal, dissection: Dissection) -> None:
    console.print(Text("text", style="italic"))
    left_out = Counter(dissection.removed.not_own)
    lines = dissection.shown.split("\n")
    for line in lines[:MAX_LINES]:
        if left_out[line]:
            left_out[line] -= 1
            console.print(Text(f"  - {plain(line)}", style="dim"))
        else:
            console.print(Text(f"    {plain(line)}"))
    _more(console, len(lines), MAX_LINES, "lines")
    if dissection.removed.not_own:
        console.print(Text("  - not the sender's own words: no part of likeness", style="dim"))
    if dissection.hidden:
        share = f"hidden text, {dissection.removed.hidden_share:.0%} of the words of the HTML"
        console.print(Text(share, style="italic"))
        for line in dissection.hidden.split("\n")[:MAX_LINES]:
            console.print(Text(f"  ! {plain(line)}", style="red"))


def _attachments(attachments: list[DissectedAttachment]) -> Table:
    table = _table("name", "declared", "content", "octets", "sha256", "", title="attachments")
    for attachment in attachments:
        traits = [name for name in ("picture", "encrypted", "macros") if getattr(attachment, name)]
        table.add_row(
            *_cells(
                attachment.name,
                attachment.type,
                attachment.kind,
                str(attachment.size),
                attachment.sha256[:16],
                " ".join(traits),
            )
        )
        for file in attachment.files:
            table.add_row(
                *_cells(
                    f"{'  ' * file.depth}{file.name}",
                    "",
                    file.kind,
                    str(file.size) if file.size >= 0 else "",
                    f"crc {file.crc}" if file.crc else "",
                    "encrypted" if file.encrypted else "",
                )
            )
    return table


def _pictures(pictures: list[DissectedPicture]) -> Table:
    table = _table(
        "name", "kind", "place", "pixels", "frames", "codes in it", "text in it", title="pictures"
    )
    for picture in pictures:
        pixels, frames = (
            (f"{picture.width} x {picture.height}", str(picture.frames))
            if picture.looked
            else ("", "")
        )
        codes = "\n".join(map(plain, picture.codes)) if picture.looked else "not looked at"
        text = "\n".join(map(plain, picture.text.split("\n"))) if picture.read else "not read"
        cells = _cells(picture.name, picture.kind, picture.place, pixels, frames)
        table.add_row(*cells, Text(codes), Text(text))
    return table


def _shingles(console: Terminal, dissection: Dissection) -> None:
    scope = "of the site's counters" if dissection.keyed else "of no site"
    table = _table("type", "name", "hash", "made of", title=f"shingles; hashes {scope}")
    for shingle in dissection.shingles:
        table.add_row(
            *_cells(str(shingle.type), shingle.name, shingle.hash, shingle.source[:MAX_CHARACTERS])
        )
    console.print(table)
    if dissection.pairs:
        table = _table("counts", "hash", "of", "this pair's hash", "with", title="unique pairs")
        for pair in dissection.pairs:
            table.add_row(
                *_cells(f"{pair.counts_type} {pair.counts_name}", pair.counts_hash, pair.a[:MAX_CHARACTERS], pair.hash, pair.b[:MAX_CHARACTERS])
            )  # fmt: skip
        console.print(table)


def _table(*columns: str, title: str) -> Table:
    return Table(*columns, title=title, title_justify="left")


def _cells(*texts: str) -> list[Text]:
    """Texts of a stranger as cells: no markup, and nothing that moves the cursor."""
    return [Text(plain(text)) for text in texts]


def _more(console: Terminal, number: int, limit: int, things: str) -> None:
    if number > limit:
        console.print(Text(f"    ... and {number - limit} more {things}; --json has all"))
