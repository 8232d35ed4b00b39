"""Calls of who follows a link of a digest: what it is about, and that it is done.

They need no session: the link says whose they are, and for what.  What is done is the same act as
on the reader's page, with its rows in the audit log.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parseaddr
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CALLS, CallError
from oborona.desk.call_runner import CallRunner
from oborona.desk.messages.unicode_text import encodable
from oborona.desk.open_call import OpenCall
from oborona.desk.people.views import open_people
from oborona.desk.readers.release import own_copies
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay, Scope
from oborona.people.digest_book import OFF
from oborona.people.digest_link import MAX_LINK, DigestAct, DigestLink, read_link
from oborona.people.person import Person, PersonState
from oborona.people.rights import Right, Role
from oborona.policy.personal_list_match import MALWARE
from oborona.reputation.personal import mail_address

SOURCE: Final = "link of a digest"


class LinkOverError(CallError):
    """A link is none of ours, too old, or nobody's any more."""

    status = 410


class DigestLinkQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A link, as it came."""

    link: Annotated[str, Meta(max_length=MAX_LINK)]


class DigestLinkView(msgspec.Struct, frozen=True, kw_only=True):
    """What a link does.

    Args:
        act: which.
        sender: of the letter; so is the next.
        subject: empty where it holds malware.
        author: who is let in.
    """

    act: DigestAct
    sender: str = ""
    subject: str = ""
    author: str = ""


class DigestLinks:
    """The links of a site's digests.

    Args:
        site: whose.
        runner: runs what they do.
    """

    def __init__(self, site: Site, runner: CallRunner) -> None:
        self._site = site
        self._runner = runner
        self.open_calls: Mapping[str, OpenCall] = {
            "digest.look": OpenCall(DigestLinkQuestion, self._look),
            "digest.follow": OpenCall(DigestLinkQuestion, self._follow),
        }

    def _look(
        self, asked: DigestLinkQuestion, _token: str, _place: str, _agent: str
    ) -> DigestLinkView:
        link, person = self._read(asked)
        return self._view(link, person)

    def _follow(
        self, asked: DigestLinkQuestion, _token: str, place: str, _agent: str
    ) -> msgspec.Raw:
        link, person = self._read(asked)
        caller = Caller(
            name=person.name,
            roles=frozenset({Role.READER}),
            rights=frozenset({Right.OWN}),
            scope=Scope(domains=frozenset(), addresses=person.addresses),
            way=CallWay.PAGE,
            source=SOURCE,
            place=place,
        )
        order: dict[str, Any]
        match link.act:
            case DigestAct.STOP:
                name, order = "own.digest", {"hour": OFF}
            case DigestAct.NOT_SPAM:
                name, order = "own.not_spam", {"message": link.message}
            case DigestAct.ALLOW:
                author = self._view(link, person).author
                if not author:
                    raise CallError("that letter names no sender")
                name, order = "own.allow", {"what": author}
        return msgspec.Raw(self._runner.run(CALLS[name], caller, msgspec.json.encode(order)))

    def _read(self, asked: DigestLinkQuestion) -> tuple[DigestLink, Person]:
        """Return a link, and whose it is.

        Raises:
            LinkOverError: it is good for nothing.
        """
        link = read_link(asked.link, self._site.keys().digest, time.time())
        person = None
        if link is not None:
            with open_people(self._site) as store:
                person = store.of(link.person)
        active = person is not None and person.state is PersonState.ACTIVE
        if link is None or person is None or not active or Right.OWN not in person.rights:
            raise LinkOverError("this link is too old, or is none of ours")
        return link, person

    def _view(self, link: DigestLink, person: Person) -> DigestLinkView:
        if link.act is DigestAct.STOP:
            return DigestLinkView(act=link.act)
        mine = tuple(filter(None, map(mail_address, person.addresses)))
        entry = own_copies(self._site, mine, link.message)[0].entry
        harmful = not MALWARE.isdisjoint(finding.name for finding in entry.findings)
        return encodable(
            DigestLinkView(
                act=link.act,
                sender=entry.header_from or entry.sender,
                subject="" if harmful else entry.subject,
                author=mail_address(parseaddr(entry.header_from)[1]) or mail_address(entry.sender),
            )
        )
