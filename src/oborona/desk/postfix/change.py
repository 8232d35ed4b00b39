"""The change to main.cf that has a Postfix ask us, and the one that takes it back: shown as a diff,
made by postconf(1), checked, and undone where Postfix does not like it.

Ours is the first of several milters: it judges mail as it came, refuses before others have worked
on it, and a signer behind it (opendkim) signs what goes out, with our headers as they are then.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from oborona.config import Address, UnixAddress
from oborona.desk.postfix.instance import MILTERS, OLDEST, PostfixError, PostfixInstance, Smtpd
from oborona.desk.postfix.milter_list import MilterEntry, entries, is_address, join_entries
from oborona.desk.postfix.reach import UnreachableError, leads_to, means, place, reach, word_for

OPTIONS: Final = (
    "connect_timeout=5s, command_timeout=20s, content_timeout=30s, default_action=tempfail"
)
"""A little above what we take at most.

While we are away mail waits with its senders.  etc/postfix/main.cf.oborona tells more.
"""


_OURS: Final = re.compile(re.escape(OPTIONS.replace("tempfail", "")) + r"(?:tempfail|accept)\s*\}$")
"""How an entry ends that we wrote, an older Oborona too."""

_DEFAULT: Final = "milter_default_action"
_DEFAULT_ACTION: Final = re.compile(r"\bdefault_action\s*=\s*(\w+)")


class RefusedError(PostfixError):
    """A change that would not have mail filtered; the text says what to do instead."""


class MainChange(NamedTuple):
    """A change of `smtpd_milters` in main.cf."""

    value: str  # that it will have
    changes: bool  # anything
    notes: tuple[str, ...]  # what an admin should know of it


def attach_change(postfix: PostfixInstance, address: Address) -> MainChange:
    """Return the change that has Postfix ask our listener.

    Raises:
        RefusedError: it would not be asked; the text has what is to be mended first.
    """
    if postfix.version < OLDEST:
        version = ".".join(map(str, postfix.version))
        raise RefusedError(
            f"Postfix {version} takes no options of one milter: 3.0 or later is needed"
        )
    asking = must_ask(postfix.smtpds)
    if not asking:
        raise RefusedError(
            f"no smtpd stands in {postfix.folder}/master.cf: no mail comes in by SMTP"
        )
    word = word_for(address, postfix.queue)
    for smtpd in asking:
        if not leads_to(word, address, smtpd, postfix.queue):
            raise RefusedError(_elsewhere(address, smtpd, postfix))
        if smtpd.own and not _asks(smtpd, address, postfix):
            raise RefusedError(_overridden(smtpd, word, postfix))
    raw = entries(postfix.raw(MILTERS))
    left = [entry for entry in raw if _left(entry, asking, address, postfix)]
    if all(_asks(smtpd, address, postfix) for smtpd in asking):
        if left:
            value = join_entries([entry for entry in raw if entry not in left])
            return MainChange(value, changes=True, notes=_notes(postfix, address))
        return MainChange(
            join_entries(raw),
            changes=False,
            notes=(*_lets_in(postfix, address), *_notes(postfix, address)),
        )
    ours = entry_for(word)
    # what was written for our socket and leads elsewhere goes: it would be asked in vain for each
    # message
    rest = [entry for entry in raw if not means(entry.address, address) and entry not in left]
    value = join_entries([MilterEntry(ours, word), *rest])
    return MainChange(value, changes=True, notes=_notes(postfix, address))


def detach_change(postfix: PostfixInstance, address: Address) -> MainChange:
    """Return the change after which Postfix does not ask our listener any more.

    Raises:
        RefusedError: it is named by way of another parameter.
    """
    smtpds = postfix.smtpds or (Smtpd("smtp/inet", chroot=False, milters="", own=False),)

    def ours(entry: MilterEntry) -> bool:
        return any(leads_to(entry.address, address, smtpd, postfix.queue) for smtpd in smtpds)

    raw = entries(postfix.raw(MILTERS))
    rest = [entry for entry in raw if not ours(entry)]
    named = [entry.text for entry in raw if not is_address(entry.address)]
    if len(rest) == len(raw) and any(map(ours, entries(postfix.value(MILTERS)))):
        raise RefusedError(f"{MILTERS} names us by way of {' and '.join(named)}: take it out there")
    notes = tuple(
        f"{smtpd.name} has {MILTERS} of its own in master.cf, and still asks us: take it out there"
        for smtpd in smtpds
        if smtpd.own and any(map(ours, entries(smtpd.milters)))
    )
    return MainChange(join_entries(rest), changes=rest != raw, notes=notes)


def diff(postfix: PostfixInstance, change: MainChange) -> str:
    """Return what postconf would make of main.cf, tried on a copy.

    Raises:
        PostfixError: it can't be read.
    """
    main = postfix.folder / "main.cf"
    with tempfile.TemporaryDirectory(prefix="oborona-") as folder:
        try:
            for name in ("main.cf", "master.cf"):
                shutil.copyfile(postfix.folder / name, Path(folder) / name)
        except OSError as error:
            raise PostfixError(f"{error.filename}: {error.strerror}") from error
        _set(Path(folder), change.value)
        before, after = (
            path.read_text(errors="surrogateescape") for path in (main, Path(folder) / "main.cf")
        )
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(main), f"{main} (new)", n=1, lineterm=""
    )
    return "\n".join(lines)


def make(postfix: PostfixInstance, change: MainChange) -> Path:
    """Make a change, keep main.cf as it was beside it, and have Postfix check it.

    Return where the old one is.

    Raises:
        PostfixError: it can't be made, or Postfix does not like it: then main.cf is as it was.
    """
    main = postfix.folder / "main.cf"
    backup = main.with_name(f"main.cf.oborona-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        shutil.copy2(main, backup)
    except OSError as error:
        raise PostfixError(f"{error.filename}: {error.strerror}; nothing was changed") from error
    try:
        _set(postfix.folder, change.value)
        postfix.run("postfix", "check")
    except PostfixError as error:
        shutil.copy2(backup, main)
        backup.unlink()
        raise PostfixError(f"{error}; main.cf is as it was") from error
    return backup


def running(postfix: PostfixInstance) -> bool:
    """Tell whether Postfix runs."""
    try:
        postfix.run("postfix", "status")
    except PostfixError:
        return False
    return True


def repair_advice(address: Address) -> str:
    """Return what an admin does about a listener of ours that an smtpd gets nobody at."""
    if isinstance(address, UnixAddress) and Path(address.path).exists():
        return (
            'set doors.milter.socket_group = "postfix", or another group of its user, or '
            'listen on "inet:127.0.0.1:8890"; then restart Oborona'
        )
    return "start the daemon first (`oborona serve`, `systemctl start oborona`, or `make run`)"


def entry_for(word: str) -> str:
    """Return the entry of `smtpd_milters` for an address of ours."""
    return f"{{ {word}, {OPTIONS} }}"


def must_ask(smtpds: Sequence[Smtpd]) -> Sequence[Smtpd]:
    """Return the services without whose asking mail of strangers passes by us: those of port 25.

    Where none is told by its name, all.
    """
    return [smtpd for smtpd in smtpds if smtpd.public] or smtpds


def _asks(smtpd: Smtpd, address: Address, postfix: PostfixInstance) -> bool:
    return any(
        leads_to(entry.address, address, smtpd, postfix.queue) for entry in entries(smtpd.milters)
    )


def _elsewhere(address: Address, smtpd: Smtpd, postfix: PostfixInstance) -> str:
    if smtpd.chroot and isinstance(address, UnixAddress):
        return (
            f"smtpd of {smtpd.name} runs in a chroot, {postfix.queue}, and can't reach "
            f"{address.path}: set doors.milter.listen to "
            f'"inet:127.0.0.1:8890", or to a socket below it, '
            f'"unix:{postfix.queue}/oborona/milter.sock", and restart Oborona'
        )
    return f"smtpd of {smtpd.name} can't be told of {address}"


def _overridden(smtpd: Smtpd, word: str, postfix: PostfixInstance) -> str:
    # postconf takes no space in a value of master.cf: what has some is a parameter of main.cf
    addresses = "".join(
        "," + re.sub(r"[\s,]+", ",", entry.text) for entry in entries(smtpd.milters)
    )
    return (
        f"{smtpd.name} has {MILTERS} of its own in master.cf, which main.cf does not reach; write "
        f"it there:\n"
        f"    postconf -c {postfix.folder} -e 'oborona_milter = {entry_for(word)}'\n"
        f"    postconf -c {postfix.folder} -P '{smtpd.name}/{MILTERS}=$oborona_milter{addresses}'\n"
        f"    postfix -c {postfix.folder} reload"
    )


def _left(
    entry: MilterEntry, asking: Sequence[Smtpd], address: Address, postfix: PostfixInstance
) -> bool:
    """Tell whether we wrote an entry for a listener that is somewhere else now: nobody is there,
    and Postfix would put off all mail for it.
    """
    if not _OURS.search(entry.text):
        return False
    for smtpd in asking:
        if leads_to(entry.address, address, smtpd, postfix.queue):
            return False
        try:
            reach(entry.address, smtpd, postfix).peer.close()
        except UnreachableError:
            continue
        return False
    return True


def action_while_away(entry: MilterEntry, postfix: PostfixInstance) -> str:
    """Return what Postfix does with mail while the milter of an entry is away: its
    `default_action`, in lower case.
    """
    own = _DEFAULT_ACTION.search(entry.text)
    return own[1].lower() if own else postfix.values(_DEFAULT).get(_DEFAULT, "").strip().lower()


def _lets_in(postfix: PostfixInstance, address: Address) -> Iterator[str]:
    """Yield what is to be known of entries that ask us as an older Oborona wrote them."""
    asking = must_ask(postfix.smtpds)
    ours = {
        entry
        for smtpd in asking
        for entry in entries(smtpd.milters)
        if leads_to(entry.address, address, smtpd, postfix.queue)
    }
    if any(action_while_away(entry, postfix) == "accept" for entry in ours):
        yield (
            "while we are away Postfix lets mail in unjudged (default_action=accept); with "
            "default_action=tempfail it waits with its"
            " senders: change it in main.cf, then postfix reload"
        )


def _notes(postfix: PostfixInstance, address: Address) -> tuple[str, ...]:
    smtpds = postfix.smtpds
    apart = [smtpd.name for smtpd in smtpds if smtpd.own and not _asks(smtpd, address, postfix)]
    notes = [f"{name} has {MILTERS} of its own in master.cf and does not ask us" for name in apart]
    for entry in entries(postfix.value(MILTERS)):
        for smtpd in must_ask(smtpds):
            meant = place(entry.address, smtpd, postfix.queue)
            if isinstance(meant, Path) and not os.path.lexists(meant):
                notes.append(
                    f"{entry.address}, which stands there already, is not to be found "
                    f"({meant}): take it out if nobody needs it"
                )
                break
    others = ", ".join(f"--postfix {folder}" for folder in postfix.others)
    if others:
        notes.append(
            f"this Postfix has further instances, each with a main.cf of its own: {others}"
        )
    if not postfix.value("non_smtpd_milters").strip():
        notes.append(
            "mail of local programs (sendmail, cron) is not shown to us: "
            "non_smtpd_milters is empty, which is right for most"
        )
    return tuple(notes)


def _set(folder: Path, value: str) -> None:
    postfix = PostfixInstance(folder)
    if value:
        postfix.run("postconf", "-e", f"{MILTERS} = {value}")
    else:
        postfix.run("postconf", "-X", MILTERS)
