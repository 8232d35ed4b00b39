"""The commonest changes of a policy, written into a file of a draft as a person would write them:
comments and all else stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from oborona.desk.call import CallError, NotFoundError
from oborona.desk.policy.file_set import OVERLAY
from oborona.errors import ConfigError
from oborona.policy.file_tables import SINGLE, SORTS
from oborona.policy.load import Policy
from oborona.stores.policy_versions.digests import FileSet
from oborona.toml.edit import TomlText

HEAD: Final = "# What people changed in the console, over the files before this one (docs/policy/drafts.md).\n"
_SORTS: Final = {sort.key: sort for sort in SORTS}
_UNNAMED: Final = frozenset({"name", "test"})


def with_field(
    files: FileSet, policy: Policy, sort: str, name: str, field: str, value: Any, *, alone: bool
) -> tuple[str, bytes]:
    """Return the file that a value goes into, and what is in it then.

    Args:
        files: of the draft.
        policy: as the draft means it.
        sort: rule, dns_list, local_list, …; or a table that is there once: verdict, karma, …
        name: of the rule or list; empty for a table that is there once.
        field: such as score, mode, enabled, say.
        value: of it.
        alone: the overlay alone may be written.

    Raises:
        NotFoundError: there is no such rule or list.
        CallError: no such sort or field, or a later file has the last word.
    """
    if sort in SINGLE:
        if name or field not in SINGLE[sort].__struct_fields__:
            raise CallError(f"[{sort}] has no {name or field}")
        key = f"{sort}.{field}"
    else:
        if sort not in _SORTS or field in _UNNAMED:
            raise CallError(f"{sort} {field} can't be set by a form; edit the file")
        if field not in _SORTS[sort].schema.__struct_fields__:
            raise CallError(f"a {_SORTS[sort].word} has no {field}")
        if not any(origin.startswith(f"{sort}.{name}.") for origin in policy.origins):
            raise NotFoundError(f"there is no {_SORTS[sort].word} {name}")
        key = f"{sort}.{name}.{field}"
    file = _file_of(policy, files, key, alone=alone)
    try:
        text = TomlText(files.get(file, HEAD.encode()), file)
        if sort in SINGLE:
            text.set_field(sort, field, value)
        else:
            text.set_named(sort, name, {field: value})
    except ConfigError as error:
        raise CallError(str(error)) from error
    return file, text.raw


def with_entry(
    files: FileSet, policy: Policy, name: str, entry: str, *, there: bool, alone: bool
) -> tuple[str, bytes]:
    """Return the file that an entry of a local list goes into (or out of), and what is in it then.

    Entries of list files are changed by lists.add and lists.remove.

    Raises:
        NotFoundError: there is no such list, or entry.
        CallError: it is there already, or a later file has the last word.
    """
    key = f"local_list.{name}.entries"
    before = list(policy.lists.get(key, ()))
    if there and entry in before:
        raise CallError(f"{entry} is on {name} already")
    if not there and entry not in before:
        raise NotFoundError(
            f"{entry} is not among the entries of {name} that stand in a policy file; "
            f"lists.remove takes it out of a list file"
        )
    after = [*before, entry] if there else [one for one in before if one != entry]
    return with_field(files, policy, "local_list", name, "entries", after, alone=alone)


def with_test(
    files: FileSet, policy: Policy, name: str, fields: dict[str, Any], *, alone: bool
) -> tuple[str, bytes]:
    """Return the file that a test of a rule goes into, and what is in it then.

    Raises:
        NotFoundError: there is no such rule.
        CallError: it stands in a file that the desk does not write.
    """
    rule = next((rule for rule in policy.rules if rule.name == name), None)
    if rule is None:
        raise NotFoundError(f"there is no rule {name}")
    place = rule.places.get("test")
    file = OVERLAY if place is None else Path(place.file).name
    if file not in files or (alone and file != OVERLAY):
        file = OVERLAY
    if place is not None and file != Path(place.file).name:
        raise CallError(
            f"the tests of {name} stand in {place.file}, and those of a later file would replace "
            f"them: write the test there"
        )
    try:
        text = TomlText(files.get(file, HEAD.encode()), file)
        if place is None:
            text.set_named("rule", name, {})
        text.add_table("rule", name, "test", fields)
    except ConfigError as error:
        raise CallError(str(error)) from error
    return file, text.raw


def _file_of(policy: Policy, files: FileSet, key: str, *, alone: bool) -> str:
    """Return the name of the file that has the last word on a value, if the desk may write that,
    or else of the overlay.
    """
    where = policy.origins.get(key, "").rpartition(":")[0]
    named = Path(where).name
    own = policy.folders.own is not None and Path(where).parent == policy.folders.own
    if own and named in files and named.endswith(".toml") and (named == OVERLAY or not alone):
        return named
    if own and named > OVERLAY:
        raise CallError(f"{where} comes after {OVERLAY} and has the last word: edit it there")
    return OVERLAY
