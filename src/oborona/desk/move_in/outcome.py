"""A plan carried out: the policy by its one publisher, signatures and people's lists by the imports
of their stores.

A second run adds what is missing, and changes nothing that is there.
"""

from __future__ import annotations

import time

import msgspec

from oborona.desk.acts.personal_import import PersonImportOrder, import_person
from oborona.desk.acts.signature_files import SignatureImportOrder, import_signatures
from oborona.desk.call import NotAllowedError
from oborona.desk.move_in.plan import MovePlan
from oborona.desk.move_in.plan_parts import OldProgram, PlannedPerson
from oborona.desk.move_in.policy_text import file_name, policy_files
from oborona.desk.persons.store import stored_person
from oborona.desk.persons.transfer import FORMAT, PersonExport
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.folder_replacement import FolderWriter
from oborona.desk.policy.guards import checked_policy
from oborona.desk.policy.publication import put_in_force
from oborona.desk.policy.site_policy import noticed, own_folder, policy_lock, versions_of
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.reputation.personal import EntryAction
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.store import VersionSort


class MoveInOutcome(msgspec.Struct, kw_only=True):
    """What was done.

    Args:
        files: that were written into the policy folder.
        version: of the policy; 0 = none was published.
        before: the version before it; 0 where a roll-back does not reach these files.
        kept: why no file was written, where there would have been some.
        added: signatures that are new, on trial.
        same: signatures that were there.
        persons: whose lists or strictness changed.
    """

    files: list[str] = []
    version: int = 0
    before: int = 0
    kept: str = ""
    added: int = 0
    same: int = 0
    persons: int = 0


def names_taken(site: Site, program: OldProgram) -> set[str]:
    """Return the names that no rule or list of a plan may have, or it would change what is there.

    None where an earlier run's file is there, which stays as it is.
    """
    if file_name(program) in read_folder(own_folder(site)):
        return set()
    policy = site.policy()
    return {rule.name for rule in policy.rules} | {one.name for one in policy.local_lists.lists}


def check_plan(site: Site, plan: MovePlan) -> None:
    """Make sure that the policy can be used with a plan's files.

    Raises:
        CallError: it can't.
    """
    before = read_folder(own_folder(site))
    after = _files_with(site, plan, before)
    if after != before:
        checked_policy(site, after)


def _files_with(site: Site, plan: MovePlan, before: FileSet) -> FileSet:
    """Return the policy folder's files with those of a plan; as they are after an earlier run."""
    if file_name(plan.program) in before:
        return before
    lines = site.policy().verdict
    if plan.lines and (lines.shadow_spam_score, lines.shadow_reject_score) != (None, None):
        plan.tell("lines are on trial here already ([verdict] shadow_...): they stay")
        plan.lines.clear()
    # a list that is there has what somebody has put on it since
    return {**policy_files(plan, lines), **before}


def carry_out(
    site: Site, caller: Caller, plan: MovePlan, *, reason: str, write: FolderWriter
) -> MoveInOutcome:
    """Do what a plan says.

    Args:
        site: that is moved into.
        caller: who does it.
        plan: of it.
        reason: why: it stands in the history of the policy.
        write: writes the policy folder.

    Raises:
        CallError: the policy can't be used with the plan's files; nothing was done.
        StoreError: something can't be written; what stands before it in the order of policy,
            signatures, people is done, and another run does the rest.
    """
    done = MoveInOutcome()
    _publish(site, caller, plan, done, reason=reason, write=write)
    _sign(site, caller, plan, done, reason)
    for address, person in plan.persons.items():
        done.persons += _teach(site, caller, address, person)
    return done


def _publish(
    site: Site,
    caller: Caller,
    plan: MovePlan,
    done: MoveInOutcome,
    *,
    reason: str,
    write: FolderWriter,
) -> None:
    if site.loaded.settings.console.policy == "read":
        raise NotAllowedError('[console] policy = "read": the policy is written elsewhere')
    with policy_lock(site), versions_of(site) as store:
        version, before = noticed(site, store)
        if file_name(plan.program) in before:
            done.kept = f"{own_folder(site) / file_name(plan.program)} is there and stays as it is"
        after = _files_with(site, plan, before)
        if after == before:
            return
        policy = checked_policy(site, after)
        published, _ = put_in_force(
            site,
            store,
            caller,
            before=before,
            after=after,
            sort=VersionSort.LIVE,
            comment=reason,
            meaning=policy.version,
            write=write,
        )
    done.files = sorted(after.keys() - before.keys())
    done.version = published.number
    if site.loaded.settings.console.policy == "write":
        done.before = version.number


def _sign(site: Site, caller: Caller, plan: MovePlan, done: MoveInOutcome, reason: str) -> None:
    if not plan.signatures:
        return
    given = {"owner": caller.name, "author": caller.name, "created": time.time()}
    lines = [
        msgspec.json.encode(msgspec.structs.replace(planned.signature, **given))
        for planned in plan.signatures
    ]
    order = SignatureImportOrder(
        content=b"\n".join(lines), called=f"move-in {plan.program}", reason=reason
    )
    imported = import_signatures(site, caller, order)
    done.added, done.same = imported.added, imported.same


def _teach(site: Site, caller: Caller, address: str, person: PlannedPerson) -> bool:
    """Add to a person's lists what they have said nothing of here; tell whether there was any."""
    known = stored_person(site, address)
    said = {
        (entry.kind, entry.value)
        for entry in known.entries
        if entry.side is not EntryAction.CONTACT
    }
    entries = tuple(entry for key, entry in person.entries.items() if key not in said)
    strictness = person.strictness if known.strictness == 1.0 else None
    if not entries and strictness in (None, 1.0):
        return False
    exported = PersonExport(format=FORMAT, person=address, strictness=strictness, entries=entries)
    order = PersonImportOrder(person=address, content=msgspec.json.encode(exported))
    import_person(site, caller, order)
    return True
