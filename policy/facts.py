"""What rules may name: every fact once, with its type, the stage from which it is known, and a line for people.

`TABLE` is the schema that expressions are checked against, and what docs/facts.md is written from. A fact `text.words` is the attribute
`text_words` of `Facts`. Facts not yet known at a stage hold the empty value of their type; rules that name them do not run there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any, Final

import msgspec

from oborona.authentication.model import Published, Result
from oborona.message.findings import NAMES as NAMES_OF_PARSING
from oborona.message.model import Kind, Mailbox, Message
from oborona.message.normalise import normalise
from oborona.message.shingles import TYPES, Type
from oborona.policy.checks import FINDINGS
from oborona.policy.decide import PARTIAL, TEMPERROR
from oborona.policy.evidence import Evidence
from oborona.policy.expression import Counted, Fact, Schema
from oborona.policy.expression.schema import FactType
from oborona.policy.known import Known
from oborona.reputation.address import Flag, RepIP
from oborona.types import Envelope, Finding, Metric, Stage, Window

Words = frozenset[str]
TEXT_LIMIT: Final = 65_536  # characters of text that rules can search: what a reader looks at, and bounded work for every pattern


def _fact(name: str, kind: FactType, stage: Stage, doc: str) -> Fact:
    return Fact(name=name, type=kind, stage=stage, doc=doc)


_C, _S, _R, _M = Stage.CONNECT, Stage.SENDER, Stage.RECIPIENT, Stage.CONTENT

TABLE: Final[tuple[Fact, ...]] = (
    _fact("client.ip", str, _C, "address of the SMTP client"),
    _fact("client.name", str, _C, "verified rDNS name of the client, empty when it has none"),
    _fact(
        "client.local",
        bool,
        _C,
        "the client is a loopback, link-local or private address, or no network client at all",
    ),
    _fact(
        "client.own",
        bool,
        _C,
        "one of ours: it logged in, is in a network of the site, came by a submission port, or is no client on the Internet",
    ),
    _fact("lists.client", Words, _C, "DNS lists that list the client's address or name"),
    _fact(
        "iprev.result",
        str,
        _C,
        "does the client's name lead back to it: pass, fail, temperror, permerror, none",
    ),
    _fact("repip.flag", str, _C, "what the counters remember of the address: good, unknown, poor or bad"),
    _fact(
        "repip.share",
        float,
        _C,
        "expected share of bad mail from the address, 0 to 1; 0.5 where nothing is known",
    ),
    _fact("helo", str, _S, "what the client called itself"),
    _fact("sender", str, _S, "MAIL FROM, empty for a bounce"),
    _fact("sender.domain", str, _S, "domain of MAIL FROM"),
    _fact(
        "lists.sender",
        Words,
        _S,
        "DNS lists that list the HELO name or the domain of MAIL FROM",
    ),
    _fact(
        "spf.result", str, _S, "SPF of MAIL FROM: none, neutral, pass, fail, softfail, temperror, permerror"
    ),
    _fact("spf.domain", str, _S, "the domain that was checked"),
    _fact("spf.helo", str, _S, "SPF of the HELO name, in the same words"),
    _fact("login", str, _S, "SASL login, empty when the client did not authenticate"),
    _fact("recipient", str, _R, "the recipient that is being asked about; of a whole message the first"),
    _fact(
        "recipients",
        int,
        _R,
        "how many recipients the message has; while one is asked about, that one included",
    ),
    _fact("message.size", int, _M, "bytes as the mail server sent them"),
    _fact("message.truncated", bool, _M, "only the head of the message was scanned"),
    _fact("message.parts", int, _M, "MIME parts, containers included"),
    _fact("message.depth", int, _M, "deepest nesting of MIME parts and attached messages"),
    _fact("message.tree", str, _M, "the MIME structure, as in multipart/mixed(text/plain,application/zip)"),
    _fact("headers", Words, _M, "names of the headers present, lower case"),
    _fact("subject", str, _M, "decoded and normalised"),
    _fact("from.address", str, _M, "address in From"),
    _fact("from.name", str, _M, "display name in From, normalised"),
    _fact("from.domain", str, _M, "domain in From"),
    _fact("from.count", int, _M, "From fields; there should be one"),
    _fact("reply_to.address", str, _M, "first address in Reply-To, empty when there is none"),
    _fact("reply_to.domain", str, _M, "its domain"),
    _fact("to.count", int, _M, "mailboxes in To and Cc"),
    _fact("message_id", str, _M, "Message-ID, without <>"),
    _fact("date.age_hours", float, _M, "hours since Date; 0 when there is no readable Date"),
    _fact("mailer", str, _M, "X-Mailer or User-Agent, lower case"),
    _fact(
        "bulk",
        bool,
        _M,
        "List-Id, List-Unsubscribe or Precedence: bulk, list or junk say that this went to many",
    ),
    _fact(
        "automatic",
        bool,
        _M,
        "a program's answer or invitation: Auto-Submitted, a calendar part or a report; such texts are alike by nature",
    ),
    _fact("text", str, _M, "what a reader sees, normalised; the first 65,536 characters"),
    _fact("text.words", int, _M, "words a reader sees"),
    _fact("text.hidden_share", float, _M, "share of the text that the reader can't see, 0 to 1"),
    _fact("html", bool, _M, "there is an HTML part"),
    _fact("links", int, _M, "links in text and HTML"),
    _fact("links.hosts", Words, _M, "host names that links lead to"),
    _fact("links.domains", Words, _M, "registrable domains that links lead to"),
    _fact(
        "links.redirected",
        Words,
        _M,
        "registrable domains of links that stand inside other links, as behind a redirector",
    ),
    _fact("addresses", Words, _M, "e-mail addresses in the text"),
    _fact("phones", Words, _M, "telephone numbers in text, subject and links, in E.164: +79051234567"),
    _fact("wallets", Words, _M, "wallets, as in bitcoin:1A1z..., whose checksums are right"),
    _fact("handles", Words, _M, "names on messengers and networks, as in telegram:name"),
    _fact("list_id", str, _M, "the mailing list's name in List-Id, lower case"),
    _fact("attachments", int, _M, "attached files, pictures included"),
    _fact("attachments.extensions", Words, _M, "their extensions, lower case, without the dot"),
    _fact(
        "attachments.kinds",
        Words,
        _M,
        "what they are by content: exe, lnk, zip, rar, 7z, iso, pdf, doc, docx, html, png, jpeg, ...; those that are known",
    ),
    _fact("attachments.members", Words, _M, "extensions of the files in archives, and in archives in those"),
    _fact("attachments.files", int, _M, "files in archives"),
    _fact("attachments.encrypted", bool, _M, "an archive or an office document needs a password"),
    _fact("attachments.macros", bool, _M, "an office document has macros, also one in an archive"),
    _fact("attachments.size", int, _M, "bytes of all of them, decoded"),
    _fact("pictures", int, _M, "pictures, attached or shown inside"),
    _fact(
        "lists.content", Words, _M, "DNS lists that list the From domain, a link or an address in the text"
    ),
    _fact("dkim.domains", Words, _M, "domains whose DKIM signatures passed"),
    _fact(
        "dkim.results",
        Words,
        _M,
        "results of all DKIM signatures: pass, fail, policy, neutral, temperror, permerror",
    ),
    _fact("dkim.signatures", int, _M, "DKIM signatures, those not looked at included"),
    _fact(
        "dkim.unsigned",
        int,
        _M,
        "octets of the body that the best signature of From's domain leaves out by its l= tag; of any signature where none of its own passed",
    ),
    _fact("dmarc.result", str, _M, "DMARC of From's domain: none, pass, fail, temperror, permerror"),
    _fact(
        "dmarc.domain", str, _M, "the domain in From that it is about: of several the one that asks for most"
    ),
    _fact(
        "dmarc.policy", str, _M, "what the domain publishes: none, quarantine, reject; none without a record"
    ),
    _fact(
        "dmarc.disposition",
        str,
        _M,
        "what it asks to be done with this message: none, quarantine, reject; none where a trusted ARC sealer saw it pass",
    ),
    _fact(
        "dmarc.aligned", bool, _M, "SPF or DKIM passed for From's domain, for each of several, record or not"
    ),
    _fact("arc.result", str, _M, "the chain of ARC seals: none, pass, fail, temperror"),
    _fact("arc.instances", int, _M, "ARC seals"),
    _fact("arc.trusted", str, _M, "the trusted sealer whose word is taken, empty = none"),
    _fact("findings", Words, _M, "names of all findings, see the list below"),
    _fact("partial", bool, _M, "the counters could not be asked, or not all of them; what is not known is 0"),
    _fact("mass.hour", int, _M, "messages of the last hour that share their text with this one, nearly"),
    _fact("mass.day", int, _M, "the same for the last day"),
    _fact("mass.fortnight", int, _M, "the same for the last two weeks"),
    _fact("mass.spam", int, _M, "how many of those of the last day were judged spam"),
    _fact("mass.complaints", int, _M, "complaints about those of the last day"),
    _fact("mass.ips", int, _M, "distinct client addresses that sent nearly this text, last day"),
    _fact("mass.recipients", int, _M, "distinct recipients of nearly this text, last day"),
)

STAGES: Final = {
    Type.CLIENT_IP: _C,
    Type.CLIENT_NETWORK: _C,
    Type.RDNS: _C,
    Type.HELO: _S,
    Type.MAIL_FROM: _S,
    Type.MAIL_FROM_DOMAIN: _S,
    Type.IP_SENDERS: _C,
}
"""Stage from which a type of shingle is known; all others with the content."""

NAMES: Final = {kind.name.title().replace("_", ""): kind for kind in Type}
"""How `count[...]` names each type: MAIL_FROM_DOMAIN is count[MailFromDomain]."""

SCHEMA: Final = Schema(
    facts=TABLE,
    counted=tuple(
        Counted(name=name, number=int(kind), stage=STAGES.get(kind, _M), doc=TYPES[kind].meaning)
        for name, kind in NAMES.items()
    ),
    findings=dict.fromkeys((*NAMES_OF_PARSING, *FINDINGS, PARTIAL, TEMPERROR), _M),
)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one message, or of what is known of it at a stage."""

    known: Known
    client_ip: str = ""
    client_name: str = ""
    client_local: bool = False
    client_own: bool = False
    lists_client: Words = frozenset()
    iprev_result: str = Result.NONE.value
    repip_flag: str = Flag.UNKNOWN.value
    repip_share: float = 0.5
    helo: str = ""
    lists_sender: Words = frozenset()
    spf_result: str = Result.NONE.value
    spf_domain: str = ""
    spf_helo: str = Result.NONE.value
    sender: str = ""
    sender_domain: str = ""
    login: str = ""
    recipient: str = ""
    recipients: int = 0
    message_size: int = 0
    message_truncated: bool = False
    message_parts: int = 0
    message_depth: int = 0
    message_tree: str = ""
    headers: Words = frozenset()
    subject: str = ""
    from_address: str = ""
    from_name: str = ""
    from_domain: str = ""
    from_count: int = 0
    reply_to_address: str = ""
    reply_to_domain: str = ""
    to_count: int = 0
    message_id: str = ""
    date_age_hours: float = 0.0
    mailer: str = ""
    bulk: bool = False
    automatic: bool = False
    text: str = ""
    text_words: int = 0
    text_hidden_share: float = 0.0
    html: bool = False
    links: int = 0
    links_hosts: Words = frozenset()
    links_domains: Words = frozenset()
    links_redirected: Words = frozenset()
    addresses: Words = frozenset()
    phones: Words = frozenset()
    wallets: Words = frozenset()
    handles: Words = frozenset()
    list_id: str = ""
    attachments: int = 0
    attachments_extensions: Words = frozenset()
    attachments_kinds: Words = frozenset()
    attachments_members: Words = frozenset()
    attachments_files: int = 0
    attachments_encrypted: bool = False
    attachments_macros: bool = False
    attachments_size: int = 0
    pictures: int = 0
    lists_content: Words = frozenset()
    dkim_domains: Words = frozenset()
    dkim_results: Words = frozenset()
    dkim_signatures: int = 0
    dkim_unsigned: int = 0
    dmarc_result: str = Result.NONE.value
    dmarc_domain: str = ""
    dmarc_policy: str = Published.NONE.value
    dmarc_disposition: str = Published.NONE.value
    dmarc_aligned: bool = False
    arc_result: str = Result.NONE.value
    arc_instances: int = 0
    arc_trusted: str = ""
    findings: Words = frozenset()
    partial: bool = False
    mass_hour: int = 0
    mass_day: int = 0
    mass_fortnight: int = 0
    mass_spam: int = 0
    mass_complaints: int = 0
    mass_ips: int = 0
    mass_recipients: int = 0

    def count(self, kind: int, window: int, metric: int) -> int:
        """Return one count of one type of piece; see `Known.count`."""
        return self.known.count(kind, window, metric)

    def ham(self, kind: int, window: int) -> int:
        """Return how many were seen and were not spam."""
        return self.known.ham(kind, window)

    def spam_share(self, kind: int, window: int) -> float:
        """Return the expected share of spam, 0.5 for no history."""
        return self.known.spam_share(kind, window)

    def found(self, name: str) -> bool:
        """Tell whether there is a finding of this name."""
        return name in self.findings


def early_facts(envelope: Envelope, known: Known, evidence: Evidence) -> Facts:
    """Return what is known before the content: client, sender, and the last recipient given."""
    return Facts(
        known=known, **_envelope(envelope, envelope.recipients[-1:]), **_who(envelope, known, evidence)
    )


def facts_of(
    message: Message,
    envelope: Envelope,
    findings: Iterable[Finding],
    known: Known,
    evidence: Evidence,
    *,
    now: float,
    size: int,
    partial: bool,
) -> Facts:
    """Return all facts of a message.

    Args:
        message: parsed.
        envelope: its envelope.
        findings: of parsing and of the checks.
        known: its counts.
        evidence: of authentication and DNS lists.
        now: Unix seconds.
        size: bytes of the whole message, scanned or not.
        partial: the counts could not be read.
    """
    reply_to = message.reply_to[0] if message.reply_to else _NOBODY
    sender = message.from_ or _NOBODY
    copies = known.copies(Window.DAY, Metric.SEEN)
    return Facts(
        known=known,
        **_envelope(envelope, envelope.recipients[:1]),
        **_who(envelope, known, evidence),
        **_proved(evidence),
        message_size=size,
        message_truncated=message.truncated,
        message_parts=len(message.parts),
        message_depth=message.depth,
        message_tree=message.mime_tree,
        headers=frozenset(header.name for header in message.headers),
        subject=normalise(message.subject),
        from_address=sender.address,
        from_name=normalise(sender.name),
        from_domain=sender.domain,
        from_count=message.from_count,
        reply_to_address=reply_to.address,
        reply_to_domain=reply_to.domain,
        to_count=len(message.recipients),
        message_id=message.message_id,
        date_age_hours=(now - message.date) / 3600 if message.date is not None else 0.0,
        mailer=(message.get("x-mailer") or message.get("user-agent") or "").lower()[:200],
        bulk=_to_many(message),
        automatic=_automatic(message),
        text=message.normal_text[:TEXT_LIMIT],
        text_words=message.words,
        text_hidden_share=message.hidden_share,
        html=any(part.content_type == "text/html" for part in message.parts),
        links=len(message.links),
        links_hosts=frozenset(link.host for link in message.links),
        links_domains=frozenset(link.domain for link in message.links if link.domain),
        links_redirected=frozenset(link.domain for link in message.links if link.through and link.domain),
        addresses=frozenset(message.addresses),
        phones=_values(message, Kind.PHONE),
        wallets=_values(message, Kind.WALLET),
        handles=_values(message, Kind.HANDLE),
        list_id=next((entity.value for entity in message.entities if entity.kind is Kind.LIST), ""),
        attachments=len(message.attachments),
        attachments_extensions=frozenset(file.extension for file in message.attachments if file.extension),
        **_files(message),
        attachments_size=sum(file.size for file in message.attachments),
        pictures=sum(file.picture for file in message.attachments),
        findings=frozenset(finding.name for finding in findings),
        partial=partial,
        mass_hour=known.copies(Window.HOUR, Metric.SEEN),
        mass_day=copies,
        mass_fortnight=known.copies(Window.FORTNIGHT, Metric.SEEN),
        mass_spam=known.copies(Window.DAY, Metric.SPAM),
        mass_complaints=known.copies(Window.DAY, Metric.COMPLAINTS),
        # both are estimates, from different values of the fingerprint: there are no more addresses than copies
        mass_ips=min(known.count(Type.TEXT_IPS, Window.DAY, Metric.SEEN), copies),
        mass_recipients=known.count(Type.TEXT_RECIPIENTS, Window.DAY, Metric.SEEN),
    )


def _values(message: Message, kind: Kind) -> Words:
    return frozenset(entity.value for entity in message.entities if entity.kind is kind)


def _files(message: Message) -> dict[str, Any]:
    """What is in attachments."""
    files = message.attachments
    members = [member for file in files for member in file.members]
    return {
        "attachments_kinds": frozenset(file.kind for file in files if file.kind),
        "attachments_members": frozenset(member.extension for member in members if member.extension),
        "attachments_files": len(members),
        "attachments_encrypted": any(file.encrypted for file in files),
        "attachments_macros": any(file.macros for file in files),
    }


def _who(envelope: Envelope, known: Known, evidence: Evidence) -> dict[str, Any]:
    """What was learned of client and sender by asking."""
    identity, repip = evidence.identity, RepIP() if is_own(envelope) else known.repip()
    return {
        "lists_client": _listed(evidence, Stage.CONNECT),
        "lists_sender": _listed(evidence, Stage.SENDER),
        "iprev_result": identity.iprev.result.value,
        "repip_flag": repip.flag.value,
        "repip_share": repip.share,
        "spf_result": identity.spf.result.value,
        "spf_domain": identity.spf.domain,
        "spf_helo": identity.spf_helo.result.value,
    }


def _proved(evidence: Evidence) -> dict[str, Any]:
    """What only the message itself can prove."""
    identity = evidence.identity
    dmarc, arc = identity.dmarc, identity.arc
    return {
        "lists_content": _listed(evidence, Stage.CONTENT),
        "dkim_domains": frozenset(identity.dkim_domains),
        "dkim_results": frozenset(one.result.value for one in identity.dkim),
        "dkim_signatures": len(identity.dkim) + identity.dkim_more,
        "dkim_unsigned": identity.unsigned,
        "dmarc_result": dmarc.result.value,
        "dmarc_domain": dmarc.domain,
        "dmarc_policy": dmarc.policy.value,
        "dmarc_disposition": identity.disposition.value,
        "dmarc_aligned": dmarc.spf_aligned or dmarc.dkim_aligned,
        "arc_result": arc.result.value,
        "arc_instances": arc.instances,
        "arc_trusted": arc.trusted,
    }


def _listed(evidence: Evidence, stage: Stage) -> Words:
    return frozenset(one.name for one in evidence.listings if one.stage is stage)


# Python's is_private counts documentation and benchmark networks too, which are nobody's home network.
_PRIVATE: Final = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
_NOBODY: Final = Mailbox(name="", address="", domain="")


def _envelope(envelope: Envelope, recipient: tuple[str, ...]) -> dict[str, Any]:
    return {
        "client_ip": envelope.client.ip,
        "client_name": envelope.client.name,
        "client_local": is_local(envelope.client.ip),
        "client_own": is_own(envelope),
        "helo": envelope.helo,
        "sender": envelope.sender,
        "sender_domain": envelope.sender.rpartition("@")[2].lower(),
        "login": envelope.login,
        "recipient": "".join(recipient),
        "recipients": len(envelope.recipients),
    }


def is_own(envelope: Envelope) -> bool:
    """Tell whether mail comes from one of ours: such clients are no matter of DNS lists, SPF, DMARC and RepIP."""
    return envelope.own or bool(envelope.login) or is_local(envelope.client.ip)


@lru_cache(maxsize=4096)
def is_local(text: str) -> bool:
    """Tell whether an address is loopback, link-local or private, or none at all."""
    try:
        address = ip_address(text)
    except ValueError:
        return True
    return address.is_loopback or address.is_link_local or any(address in network for network in _PRIVATE)


def _to_many(message: Message) -> bool:
    if message.get("list-id") is not None or message.get("list-unsubscribe") is not None:
        return True
    return (message.get("precedence") or "").strip().lower() in ("bulk", "list", "junk")


def _automatic(message: Message) -> bool:
    submitted = (message.get("auto-submitted") or "no").strip().lower()
    return not submitted.startswith("no") or any(
        kind in message.mime_tree for kind in ("text/calendar", "multipart/report")
    )
