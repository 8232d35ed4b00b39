"""A store that several processes make at the same moment, as the units of a first start do."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from oborona.accounts.store import schema as accounts
from oborona.audit import schema as audit
from oborona.people import schema as people
from oborona.sqlite_file import SqliteFileKind
from oborona.stores.persons import schema as persons

KINDS = {
    "accounts": accounts.SHARED,
    "audit": audit.SHARED,
    "people": people.SHARED,
    "persons": persons.SHARED,
}
AT_ONCE, ROUNDS = 8, 10


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_all_who_make_it_have_it(kind: SqliteFileKind, tmp_path: Path) -> None:
    """Each opens it, none is told that it is not ours or held, and it is of the newest version."""
    together = threading.Barrier(AT_ONCE)
    versions: list[int] = []
    errors: list[Exception] = []

    def open_it(path: Path) -> None:
        together.wait()
        try:
            db = kind.open(path)
            versions.append(db.execute("PRAGMA user_version").fetchone()[0])
            db.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            errors.append(error)

    for number in range(ROUNDS):
        (tmp_path / f"{number}").mkdir()
        threads = [
            threading.Thread(target=open_it, args=(tmp_path / f"{number}" / "store.db",))
            for _ in range(AT_ONCE)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert versions == [len(kind.format.migrations)] * AT_ONCE * ROUNDS
