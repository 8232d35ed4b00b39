"""Folders of Maildirs as files: what is read, what is never followed, what is made."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.recheck.mailboxes.located_copy import MoveGuard
from oborona.recheck.mailboxes.maildir import MaildirMailboxes
from oborona.recheck.mailboxes.maildir_folder import (
    HEAD,
    MARK,
    MaildirFile,
    MaildirFolder,
    folders,
    make_folder,
)
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome

ID = "0ABCDEFGH0000"
HEADERS = f"X-Mras-Id: {ID}.AAAA\nMessage-ID: <1@a>\n"
LETTER = MailboxItem(user="joe", ident=ID, message_id="1@a", delivered=time.time())
DEADLINE_S = 20.0


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    root = tmp_path / "Maildir"
    for part in ("new", "cur", "tmp", ".Junk/new", ".Junk/cur", ".Junk/tmp"):
        (root / part).mkdir(parents=True)
    return root


@pytest.fixture
def root(maildir: Path) -> Iterator[int]:
    handle = os.open(maildir, os.O_DIRECTORY)
    yield handle
    os.close(handle)


def put(maildir: Path, name: str, text: str = HEADERS + "\nGood day.\n") -> Path:
    file = maildir / name
    file.write_bytes(text.encode("latin-1"))
    return file


def read(root: int, name: str = "INBOX") -> list[MaildirFile]:
    with MaildirFolder(root, name) as folder:
        return list(folder.since(0))


def opened(maildir: Path, *, listed: bool = False) -> MaildirMailboxes:
    return MaildirMailboxes(
        lambda _: str(maildir), MoveGuard(move_listed=listed), connections=1, deadline_s=DEADLINE_S
    )


@pytest.mark.parametrize(
    ("text", "mras_id", "message_id"),
    [
        (HEADERS + "\nbody", f"{ID}.AAAA", "<1@a>"),
        (HEADERS.replace("\n", "\r\n") + "\r\nbody", f"{ID}.AAAA", "<1@a>"),
        ("x-mras-ID:  folded\n\t here \nmessage-id:\n <1@a>\n\n", "folded\n\t here", "<1@a>"),
        ("X-Mras-Id: first\nX-Mras-Id: second\n\n", "first", ""),
        ("Subject: x\n\nX-Mras-Id: in the body\n", "", ""),
        ("", "", ""),
        ("\n\n", "", ""),
        ("X-Mras-Id: no end", "no end", ""),
        ("X" * HEAD + "\nX-Mras-Id: too far\n\n", "", ""),
        ("A: \xff\xfe\nX-Mras-Id: \xe9\n\n", "\xe9", ""),
    ],
)
def test_headers(maildir: Path, root: int, text: str, mras_id: str, message_id: str) -> None:
    put(maildir, "new/1", text)
    (file,) = read(root)
    assert (file.mras_id, file.message_id) == (mras_id, message_id)


def test_flags_and_keywords(maildir: Path, root: int) -> None:
    put(maildir, "dovecot-keywords", "0 OboronaMoved\n1 $NotJunk\nnonsense\n99 x\n")
    for name in (
        "new/1",
        "cur/2:2,",
        "cur/3:2,SRFTPD",
        "cur/4:2,abz",
        "cur/5:2,é",
        "cur/6",
        f"cur/7{MARK}:2,S",
    ):
        put(maildir, name)
    found = {file.name: set(file.found.flags) - {""} for file in read(root)}
    assert found["1"] == {"\\recent"}
    assert found["2:2,"] == found["6"] == set()
    assert found["3:2,SRFTPD"] == {
        "\\seen",
        "\\answered",
        "\\flagged",
        "\\deleted",
        "$forwarded",
        "\\draft",
    }
    assert found["4:2,abz"] == {"oboronamoved", "$notjunk"}
    assert found["5:2,é"] == set()
    assert found[f"7{MARK}:2,S"] == {"\\seen", "oboronamoved"}


def test_only_messages_that_are_young_enough_and_files(
    maildir: Path, root: int, tmp_path: Path
) -> None:
    old, young = put(maildir, "new/old"), put(maildir, "new/young")
    os.utime(old, (1e9, 1e9))
    (maildir / "new/link").symlink_to(young)
    (maildir / "new/folder").mkdir()
    os.mkfifo(maildir / "new/pipe")
    put(maildir, "new/.hidden")
    put(maildir, "tmp/unfinished")
    with MaildirFolder(root, "INBOX") as folder:
        assert [file.name for file in folder.since(2e9 - 1e9 + 1)] == ["young"]


async def test_links_lead_nowhere(maildir: Path, tmp_path: Path) -> None:
    """Who owns the Maildir can't make us rename or make files elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    for part in ("new", "cur", "tmp"):
        (elsewhere / part).mkdir(parents=True)
    letter = put(maildir, "new/1")
    (maildir / ".Junk").rename(tmp_path / "junk")
    (maildir / ".Junk").symlink_to(elsewhere)
    boxes = opened(maildir)
    (done,) = await boxes.move([LETTER], "INBOX", "Junk")
    assert done.outcome is MoveOutcome.UNABLE
    assert letter.exists()
    (maildir / ".Junk").unlink()
    (maildir / ".Junk").mkdir()
    (maildir / ".Junk/new").symlink_to(elsewhere / "new")
    (done,) = await boxes.move([LETTER], "INBOX", "Junk")
    assert done.outcome is MoveOutcome.UNABLE
    assert letter.exists()
    await boxes.close()
    assert not list((elsewhere / "new").iterdir())


def test_a_folder_that_is_made_belongs_to_the_maildirs_owner(maildir: Path, root: int) -> None:
    os.chown(maildir, 65534, 65534)
    maildir.chmod(0o2750)
    for _ in range(2):
        make_folder(root, "Спам/x")
    (made,) = [inside for name, inside in folders(root) if name == "Спам/x"]
    for path in (
        maildir / made,
        *(maildir / made / part for part in ("new", "cur", "tmp", "maildirfolder")),
    ):
        assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534), path
    assert stat.S_IMODE((maildir / made / "cur").stat().st_mode) & 0o777 == 0o750


@pytest.mark.parametrize("name", ["", "/", "a/", "../x", "a.b", "..", "a\nb", "a\0b"])
def test_names_that_lead_elsewhere_are_no_folders(root: int, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        MaildirFolder(root, name)
    with pytest.raises(FileNotFoundError):
        make_folder(root, name)


def test_folders_of_any_name(maildir: Path, root: int) -> None:
    for name in (".&BCEEPwQwBDw-", ".a.b", ".&&&", ".\udcff", "visible", "..x"):
        (maildir / name).mkdir()
    names = dict(folders(root))
    assert names["INBOX"] == "."
    assert names["Спам"] == ".&BCEEPwQwBDw-"
    assert names["a/b"] == ".a.b"
    assert "visible" not in names


async def test_a_move_keeps_the_octets_and_takes_keywords_off(maildir: Path) -> None:
    letter = put(maildir, "cur/17.M1P1.host,S=99:2,ac")
    raw = letter.read_bytes()
    boxes = opened(maildir, listed=True)
    assert (await boxes.move([LETTER], "INBOX", "Junk"))[0].outcome is MoveOutcome.MOVED
    moved = maildir / f".Junk/cur/17.M1P1.host,S=99{MARK}:2,"
    assert moved.read_bytes() == raw
    assert (await boxes.move([LETTER], "Junk", "INBOX", force=True))[0].outcome is MoveOutcome.MOVED
    assert (maildir / "cur" / moved.name).read_bytes() == raw
    await boxes.close()


async def test_what_we_may_not_enter_is_told(maildir: Path, tmp_path: Path) -> None:
    boxes = opened(tmp_path / "nowhere")
    (done,) = await boxes.look([LETTER], "INBOX")
    assert (done.outcome, "no such mailbox" in done.say) == (MoveOutcome.UNABLE, True)
    await boxes.close()
    boxes = opened(put(tmp_path, "file"))
    assert (await boxes.look([LETTER], "INBOX"))[0].outcome is MoveOutcome.UNABLE
    await boxes.close()
