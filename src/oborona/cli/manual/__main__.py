"""`python -m oborona.cli.manual SHARE [ZSH]`: man pages and completion below a `share` folder.

Args:
    SHARE: /usr/share of a package, /usr/local/share of a machine.
    ZSH: folder below SHARE/zsh that zsh looks in.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

from oborona.cli.completion import completion_script
from oborona.cli.manual import command_pages, file_pages

LEVEL = 9  # of gzip, as Debian asks for


def files(zsh: str) -> Iterator[tuple[str, bytes]]:
    """Yield each file's place below `share`, and what it holds: the same at any time."""
    pages = [(name, command_pages.SECTION, text) for name, text in command_pages.command_pages()]
    pages += [
        ("oborona.toml", file_pages.SECTION, file_pages.settings_page()),
        ("oborona-policy", file_pages.SECTION, file_pages.policy_page()),
    ]
    for name, section, text in pages:
        packed = gzip.compress(text.encode("ascii"), LEVEL, mtime=0)
        yield f"man/man{section}/{name}.{section}.gz", packed
    for place, shell in (
        ("bash-completion/completions/oborona", "bash"),
        (f"zsh/{zsh}/_oborona", "zsh"),
        ("fish/vendor_completions.d/oborona.fish", "fish"),
    ):
        yield place, (completion_script(shell) + "\n").encode()


def write(share: Path, zsh: str) -> None:
    """Write all of them.

    Args:
        share: folder below which each has its place.
        zsh: folder below its `zsh`.
    """
    for place, raw in files(zsh):
        path = share / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *(sys.argv[2:] or ("site-functions",)))
