"""The state folder, made ready before the first process: the secret, the journal, and every other
store, each told where it is not what was begun.

    secret → is it the stores' own? → journal: damaged, foreign or gone, it is begun anew with an
    error → the others: foreign or gone as well; damaged they stay where they are, for they hold
    people's work, and are not used

No other store than the journal stops a start, whatever is wrong with it, but one that a newer
Oborona wrote.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from oborona import secret, state_files, store_birth
from oborona.accounts.store import queue_holds as queue_hold_file
from oborona.accounts.store import schema as account_store
from oborona.audit import schema as audit_log
from oborona.errors import StoreError, StoreForeign, StoreVersion
from oborona.feedback import schema as word_store
from oborona.feedback.cases import schema as case_store
from oborona.feedback.events import schema as event_log
from oborona.feedback.events import spool as event_spool
from oborona.journal import schema
from oborona.lock import hold
from oborona.people import digest_book
from oborona.people import schema as people_store
from oborona.recheck import moves_schema, site_moves_schema
from oborona.sqlite_damage import set_aside
from oborona.sqlite_file import SqliteFileDamaged, SqliteFileKind, closed_on_error, connect
from oborona.stores.charts import schema as chart_file
from oborona.stores.persons import schema as person_store
from oborona.stores.pins import schema as pin_store
from oborona.stores.policy_versions import schema as policy_versions
from oborona.stores.signatures import schema as signature_store
from oborona.stores.site_models import schema as site_models
from oborona.telemetry.log import event

# The mark of a restore that has not come to its end: while it is there, nothing starts on what was
# put back so far.


def check_restored(state: Path) -> None:
    """Refuse a state folder that a restore has left half done.

    Raises:
        StoreForeign: it has. StoreError: there is a mark that can't be read.
    """
    mark = state / state_files.RESTORING
    try:
        source = mark.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{mark}: {error.strerror}") from error
    raise StoreForeign(
        f"{state} was put back in part: `oborona restore {source}` ended before its end; "
        f"run it again"
    )


# for another unit that prepares: a journal of which all is read takes minutes, others seconds
PATIENCE_S: Final = 60.0
# stores of another site, and none of this one's: then it is the secret that is foreign
MOST_FOREIGN: Final = 2

log = logging.getLogger("oborona")


class OptionalStore(NamedTuple):
    """A store without which mail goes on."""

    file: str
    shared: SqliteFileKind
    without: str  # what is told while it can't be used
    at_once: bool  # it is begun at the first start; else when somebody first needs it


OPTIONAL: Final = (
    OptionalStore(
        state_files.SIGNATURES,
        signature_store.SHARED,
        "signatures of the store are not used",
        at_once=True,
    ),
    OptionalStore(
        state_files.PINS, pin_store.SHARED, "manual overrides are not used", at_once=True
    ),
    OptionalStore(state_files.FEEDBACK, word_store.SHARED, "nothing is learned", at_once=True),
    OptionalStore(
        state_files.EVENTS,
        event_log.SHARED,
        "nothing that people say is written down",
        at_once=True,
    ),
    OptionalStore(
        state_files.EVENTS_SPOOL,
        event_spool.SHARED,
        "what people say is refused while the site's log is away",
        at_once=False,
    ),
    OptionalStore(
        state_files.PERSONS, person_store.SHARED, "persons' own lists are not used", at_once=False
    ),
    OptionalStore(
        state_files.ACCOUNTS,
        account_store.SHARED,
        "the states of accounts stay as they were",
        at_once=False,
    ),
    OptionalStore(
        state_files.QUEUE_HOLDS,
        queue_hold_file.SHARED,
        "what bans hold in the mail server's queue is not known",
        at_once=False,
    ),
    OptionalStore(state_files.MOVES, moves_schema.SHARED, "no copy is moved", at_once=False),
    OptionalStore(
        state_files.SITE_MOVES,
        site_moves_schema.SHARED,
        "moves that the other machines know wait",
        at_once=False,
    ),
    OptionalStore(
        state_files.CASES, case_store.SHARED, "no campaign can be decided", at_once=False
    ),
    OptionalStore(
        state_files.AUDIT, audit_log.SHARED, "commands that change something refuse", at_once=False
    ),
    OptionalStore(
        state_files.PEOPLE, people_store.SHARED, "nobody logs in to the console", at_once=False
    ),
    OptionalStore(state_files.DIGESTS, digest_book.SHARED, "nobody gets a digest", at_once=False),
    OptionalStore(
        state_files.POLICY_VERSIONS,
        policy_versions.SHARED,
        "the policy has no history, and none is published",
        at_once=False,
    ),
    OptionalStore(
        state_files.FEED_VERSIONS,
        policy_versions.SHARED,
        "nothing is taken from the feed",
        at_once=False,
    ),
    OptionalStore(
        state_files.SITE_MODELS,
        site_models.SHARED,
        "the final models stay as they were, and none is replaced",
        at_once=False,
    ),
    OptionalStore(state_files.CHARTS, chart_file.SHARED, "no charts are drawn", at_once=False),
)


def prepare_state(state: Path) -> None:
    """Make the state folder, the site's secret and the stores, where they are missing.

    Tell what is missing and was there.

    Raises:
        StoreForeign: what is there was begun with another secret, or is half of a restore.
        StoreError: it can't be made or written.
    """
    try:
        state.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{state}: {error.strerror}") from error
    check_restored(state)
    counters = state / state_files.COUNTERS
    try:
        counters.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{counters}: {error.strerror}") from error
    secret.make(
        state,
        (counters / state_files.COUNTERS_DATA, state / state_files.JOURNAL),
        noted=(counters,),
    )
    with hold(
        state / state_files.STATE_LOCK, "oborona, preparing its state", patience_s=PATIENCE_S
    ):
        births = {
            file: _birth(state / file)
            for file in (state_files.JOURNAL, *(store.file for store in OPTIONAL))
        }
        _check_secret(state, births)
        _prepare(
            state,
            state_files.JOURNAL,
            births[state_files.JOURNAL],
            partial(schema.prepare, state / state_files.JOURNAL),
        )
        for store in OPTIONAL:
            if not (
                store.at_once
                or (state / store.file).exists()
                or store_birth.read_record(state, store.file)
            ):
                continue
            with _told_off(state, store.file, store.without):
                _prepare(
                    state,
                    store.file,
                    births[store.file],
                    partial(_open, store.shared, state / store.file),
                )


def _open(shared: SqliteFileKind, path: Path) -> None:
    shared.open(path).close()


def _check_secret(state: Path, births: dict[str, store_birth.StoreBirth | None]) -> None:
    """Refuse a secret that came with its notes, but without its stores."""
    foreign = [
        file
        for file, birth in births.items()
        if birth is not None and store_birth.is_foreign(birth, state)
    ]
    ours = [file for file, birth in births.items() if birth is not None and file not in foreign]
    if len(foreign) >= MOST_FOREIGN and not ours:
        raise StoreForeign(
            f"{state / state_files.SECRET} is not the secret that {' and '.join(foreign)} were "
            f"begun with: their hashes and ids mean"
            " nothing under this one; put back the one that belongs to them, with its notes, from "
            "the same backup"
        )


def _prepare(
    state: Path, file: str, birth: store_birth.StoreBirth | None, opened: Callable[[], object]
) -> None:
    """Open a store once, so that it is there; set it aside before if it is another site's."""
    if birth is not None and store_birth.is_foreign(birth, state):
        aside = set_aside(state / file, "foreign", time.time())
        store_birth.note_lost(
            state, file, f"was begun with another site's secret, and was set aside as {aside}"
        )
    opened()
    now = _birth(state / file)
    if now is not None:
        store_birth.note_birth(state, file, now, fresh=False)


def _birth(path: Path) -> store_birth.StoreBirth | None:
    """Return the birth that a store carries.

    None = it has none, or can't be read: who opens it says why.
    """
    try:
        if not path.exists() or not path.stat().st_size:
            return None
        with closing(connect(path, write=False)) as db, closed_on_error(db, path):
            return store_birth.stored_birth(db)
    except (StoreError, OSError, ValueError, TypeError):
        return None


@contextmanager
def _told_off(state: Path, file: str, without: str) -> Iterator[None]:
    """Keep and tell that a store can't be used.

    Mail goes on with what was known, and who reads it looks again and again.
    """
    try:
        yield
    except StoreVersion:
        raise
    except StoreError as error:
        store_birth.note_unusable(state, file, str(error))
        event(log, logging.ERROR, without, error=error)
    except Exception as error:
        damage = SqliteFileDamaged(
            f"{state / file}: can't be used ({type(error).__name__}: {error})"
        )
        store_birth.note_unusable(state, file, str(damage))
        log.debug("a store can't be used", exc_info=True)
        event(log, logging.ERROR, without, error=damage)
