"""What stands before a publication: the loader, the tests beside rules, and a preview."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.desk.call import ActOrder, CallError
from oborona.desk.policy.draft_note import DraftPreview
from oborona.desk.policy.lint import LintedPolicy, PolicyProblem, failed_tests, lint
from oborona.desk.policy.preview import PolicyPreview
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet

GOOD_LOST: Final = 0.01  # share of good mail that may be lost without a second word
LEFT_S: Final = 3600.0  # nothing is looked at for so long
_TOLD: Final = 5  # problems that an error names


@contextmanager
def scratch(site: Site, files: FileSet) -> Iterator[Path]:
    """Give a folder that holds these files, for as long as they are looked at.

    Raises:
        StoreError: it can't be made or written.
    """
    where = site.state / state_files.POLICY_DRAFTS
    folder: Path | None = None
    try:
        try:
            where.mkdir(mode=0o700, exist_ok=True)
            _sweep(where)
            folder = Path(tempfile.mkdtemp(prefix=".look-", dir=where))
            for name, raw in files.items():
                (folder / name).write_bytes(raw)
        except OSError as error:
            raise StoreError(f"{error.filename or where}: {error.strerror}") from error
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _sweep(where: Path) -> None:
    """Take away what processes that were killed have left."""
    for path in where.glob(".*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > LEFT_S:
                shutil.rmtree(path)


def linted(
    site: Site, files: FileSet, known_as: Path | None = None, *, feed: bool = False
) -> LintedPolicy:
    """Return files as the loader reads them in the place of the site's own, or of the feed's."""
    with scratch(site, files) as folder:
        return lint(site, folder, known_as, feed=feed)


def checked_policy(
    site: Site, files: FileSet, known_as: Path | None = None, *, feed: bool = False
) -> Policy:
    """Return the policy of files that may be published: the site's own, or the feed's.

    Raises:
        CallError: they can't be used, or a test fails.
    """
    found = linted(site, files, known_as, feed=feed)
    if found.policy is None:
        raise CallError(f"the policy can't be used: {_told(found.problems)}")
    _, failed = failed_tests(found.policy)
    if failed:
        raise CallError(f"tests of rules fail: {_told(failed)}")
    return found.policy


def check_reason(asked: ActOrder) -> None:
    """Refuse to do without a reason what stands in the history.

    Raises:
        CallError: there is none.
    """
    if not asked.dry and not asked.reason.strip():
        raise CallError("say why: it stands in the history of the policy")


def check_preview(known: DraftPreview | None, digest: str, *, sure: bool, most_moves: int) -> None:
    """Refuse a text that nobody tried, or that does more than people expect.

    Args:
        known: the last preview.
        digest: of the very text that is to be published.
        sure: who publishes has said that so much is to change.
        most_moves: delivered copies that may be moved without that word.

    Raises:
        CallError: why.
    """
    if known is None or known.digest != digest:
        raise CallError("this very text was not tried: call policy.preview first")
    if sure:
        return
    if known.good and known.good_lost / known.good > GOOD_LOST:
        raise CallError(
            f"of {known.good:,} messages that were delivered as good mail {known.good_lost:,} would "
            f"not be any more: say `sure` (`--sure`) if that is meant"
        )
    if known.moves > most_moves:
        raise CallError(
            f"the second look would move {known.moves:,} messages that were delivered: say `sure` "
            f"(`--sure`) if that is meant"
        )


def remembered(found: PolicyPreview, digest: str, now: float) -> DraftPreview:
    """Return as much of a preview as a publication asks for."""
    return DraftPreview(
        digest=digest,
        at=now,
        messages=found.messages,
        good=found.good,
        good_lost=found.good_lost,
        moves=found.to_spam,
    )


def _told(problems: tuple[PolicyProblem, ...]) -> str:
    told = [
        f"{':'.join(str(part) for part in (problem.file, problem.line, problem.column) if part)}"
        f"{': ' if problem.file else ''}{problem.message}"
        for problem in problems[:_TOLD]
    ]
    more = len(problems) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")
