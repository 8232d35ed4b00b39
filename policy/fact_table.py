"""What rules may name: every fact once, with its type, the stage from which it is known, and a line for people.

`TABLE` is the schema that expressions are checked against, and what docs/facts.md is written from. A fact `text.words` is the attribute
`text_words` of `policy.facts.Facts`.
"""

from __future__ import annotations

from typing import Final

from oborona.message.findings import NAMES as NAMES_OF_PARSING
from oborona.message.shingles import TYPES, Type
from oborona.policy.checks import FINDINGS
from oborona.policy.decide import PARTIAL, TEMPERROR
from oborona.policy.expression import Counted, Fact, Schema
from oborona.policy.expression.schema import FactType
from oborona.policy.pictures import FINDINGS as OF_PICTURES
from oborona.types import Stage

Words = frozenset[str]


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
    _fact(
        "client.country",
        str,
        _C,
        "country of the client's address, two capital letters (ISO 3166-1); empty where it is not known, as without a database",
    ),
    _fact("client.as_number", int, _C, "number of the autonomous system that announces it, 0 = not known"),
    _fact("client.as_name", str, _C, "whose that is, as its database has it"),
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
    _fact("text.language", str, _M, "its language, ISO 639-1 as in ru; empty where there is too little text"),
    _fact(
        "text.charset",
        str,
        _M,
        "the charset it was read in, declared or found out: utf-8, us-ascii, windows-1251, koi8-r, gbk, ...",
    ),
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
        "pictures.codes", Words, _M, "what QR codes and their like in pictures hold; 200 characters of each"
    ),
    _fact(
        "pictures.text", str, _M, "what is written in pictures, normalised; empty until they have been read"
    ),
    _fact("pictures.words", int, _M, "words of that"),
    _fact("pictures.only", bool, _M, "a picture large enough for a message, and next to no text beside it"),
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
    _fact(
        "signatures.spam",
        Words,
        _M,
        "ids of the spam signatures that are found in it; not of those in shadow mode or with a score of their own",
    ),
    _fact("signatures.ham", Words, _M, "the same of signatures of good mail"),
    _fact("signatures.owners", Words, _M, "owners of all signatures found in it that are live"),
    _fact("signatures.spam_why", str, _M, "what `signatures.spam` are: id, words, owner and reason of each"),
    _fact("signatures.ham_why", str, _M, "the same of `signatures.ham`"),
    _fact("findings", Words, _M, "names of all findings, see the list below"),
    _fact("partial", bool, _M, "the counters could not be asked, or not all of them; what is not known is 0"),
    _fact("mass.hour", int, _M, "messages of the last hour that share their text with this one, nearly"),
    _fact("mass.day", int, _M, "the same for the last day"),
    _fact("mass.fortnight", int, _M, "the same for the last two weeks"),
    _fact("mass.spam", int, _M, "how many of those of the last day were judged spam"),
    _fact("mass.complaints", int, _M, "complaints about those of the last day"),
    _fact("mass.ips", int, _M, "distinct client addresses that sent nearly this text, last day"),
    _fact("mass.senders", int, _M, "distinct From addresses of nearly this text, last day"),
    _fact("mass.recipients", int, _M, "distinct recipients of nearly this text, last day"),
)

STAGES: Final = {
    Type.CLIENT_IP: _C,
    Type.CLIENT_NETWORK: _C,
    Type.AS_NUMBER: _C,
    Type.RDNS: _C,
    Type.RDNS_DOMAIN: _C,
    Type.COUNTRY: _C,
    Type.HELO: _S,
    Type.MAIL_FROM: _S,
    Type.MAIL_FROM_DOMAIN: _S,
    Type.IP_SENDERS: _C,
    Type.ACCOUNT_IP: _S,
    Type.ACCOUNT_IPS: _S,
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
    findings=dict.fromkeys((*NAMES_OF_PARSING, *FINDINGS, *OF_PICTURES, PARTIAL, TEMPERROR), _M),
)
