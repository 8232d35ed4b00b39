"""The folders of policy files: the one that ships with the program, that of a feed of rules between
releases, and the admin's.

They are read in this order; each in the order of names, which do not begin with a dot.  A file
replaces one of the same name in a folder before, whole: policy files, scripts and list files alike.
List files are looked for in the admin's folder, then in the feed's, then in the shipped one.

The shipped folder may be read while an upgrade replaces it.  Its `MANIFEST` names what it must
hold, and is written before all its files (installers write in the order of names): an incomplete
folder is refused.  The admin's folder may be missing, or empty; so may the feed's.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from oborona.errors import PolicyError
from oborona.policy.shipped_files import MANIFEST, read

PACKAGED: Final = Path(__file__).resolve().parents[1] / "etc/policy.d"
"""The policy that ships with this program."""

SHIPPED: Final = "shipped"  # folder of what ships in a copy of all
FEED: Final = "feed"  # folder of the feed in such a copy


class FileOwner(StrEnum):
    """Whose file it is, as admins are told."""

    SHIPPED = "shipped"
    FEED = "feed"
    OWN = "yours"
    INSTEAD = "yours, instead of the shipped one"


class PolicyFolders(NamedTuple):
    """The folders, or one of them alone."""

    own: Path | None = None  # the admin's; where it is alone, it must be there and hold a policy
    shipped: Path | None = None
    feed: Path | None = None  # `oborona policy update` writes it; never without one that ships

    @classmethod
    def of(cls, where: Path | PolicyFolders) -> PolicyFolders:
        """Return folders as they are given: a path stands for that folder alone."""
        return cls(own=where) if isinstance(where, Path) else where

    @property
    def main(self) -> Path:
        """The folder that errors about no single file name: the admin's, if there is one."""
        return self.own or self.shipped or Path()

    def files(self, *suffixes: str) -> list[Path]:
        """Return the files of these suffixes in the order in which they are read.

        Raises:
            PolicyError: a folder can't be read, or what ships is not whole.
        """
        own = {path.name: path for path in self._own(suffixes)}
        feed = {path.name: path for path in self._feed(suffixes) if path.name not in own}
        later = own.keys() | feed.keys()
        shipped = [path for path in self._shipped(suffixes) if path.name not in later]
        return [*shipped, *feed.values(), *own.values()]

    def find(self, name: str) -> Path:
        """Return where a file that policy files name is.

        Where it would be with the admin, if it is nowhere.
        """
        if self.own is not None and _is_there(self.own / name):
            return self.own / name
        if self.feed is not None and _is_there(self.feed / name):
            return self.feed / name
        if self.shipped is not None and (self.own is None or _is_there(self.shipped / name)):
            return self.shipped / name
        return self.main / name

    def whose(self, file: Path) -> FileOwner:
        """Tell whose a file of these folders is."""
        if self.shipped is None:
            return FileOwner.OWN
        if file.parent == self.shipped:
            return FileOwner.SHIPPED
        if file.parent == self.feed:
            return FileOwner.FEED
        return FileOwner.INSTEAD if _is_there(self.shipped / file.name) else FileOwner.OWN

    def copied(self, to: Path) -> PolicyFolders:
        """Return the folders of a copy: the admin's files in `to` itself, those that ship and those
        of the feed in a folder there each.
        """
        return PolicyFolders(
            own=to,
            shipped=None if self.shipped is None else to / SHIPPED,
            feed=None if self.feed is None else to / FEED,
        )

    def original(self, path: Path, copy: PolicyFolders) -> Path:
        """Return the path here of a file of a copy."""
        folder = self.own
        if copy.shipped is not None and path.parent == copy.shipped:
            folder = self.shipped
        elif copy.feed is not None and path.parent == copy.feed:
            folder = self.feed
        return path if folder is None else folder / path.name

    def is_own_there(self) -> bool:
        """Tell whether there is a folder of the admin's."""
        return self.own is not None and self.own.is_dir()

    def _own(self, suffixes: tuple[str, ...]) -> list[Path]:
        if self.own is None:
            return []
        try:
            return _listed(self.own, suffixes)
        except FileNotFoundError as fault:
            # a link that leads nowhere is no folder that is missing: what it led to is
            if self.shipped is not None and not self.own.is_symlink():
                return []
            raise _unreadable(self.own, fault) from fault
        except (OSError, ValueError) as fault:
            raise _unreadable(self.own, fault) from fault

    def _feed(self, suffixes: tuple[str, ...]) -> list[Path]:
        if self.feed is None:
            return []
        try:
            return _listed(self.feed, suffixes)
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as fault:
            raise _unreadable(self.feed, fault) from fault

    def _shipped(self, suffixes: tuple[str, ...]) -> list[Path]:
        if self.shipped is None:
            return []
        try:
            listing = _listed(self.shipped, ())
        except (OSError, ValueError) as fault:
            raise _unreadable(self.shipped, fault) from fault
        names = {path.name for path in listing}
        if MANIFEST in names:
            missing = sorted(
                {version.name for version in read(self.shipped / MANIFEST) if version.ships} - names
            )
            if missing:
                raise PolicyError(
                    (
                        f"the policy that ships is not whole, {missing[0]} is missing: an "
                        f"upgrade that has not ended, or broke off"
                    ),
                    file=str(self.shipped),
                )
        return [path for path in listing if path.suffix in suffixes]


def _listed(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.name[0] != "." and (not suffixes or path.suffix in suffixes)
    )


def _is_there(path: Path) -> bool:
    """Tell whether there is anything of that name, a link that leads nowhere too."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def _unreadable(path: Path, fault: Exception) -> PolicyError:
    why = getattr(fault, "strerror", None) or fault
    return PolicyError(f"the policy folder cannot be read: {why}", file=str(path))
