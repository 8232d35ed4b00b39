"""Facts of what others prove and have marked: DNS lists, DKIM, DMARC, ARC, signatures."""

from functools import partial
from typing import Annotated

from oborona.authentication.model import AuthResult, DmarcPolicy
from oborona.policy.expression.forms import TextForm
from oborona.policy.facts.content import ContentFacts
from oborona.policy.facts.declaration import FactArea, FactDeclaration, Words
from oborona.types import Stage

_links = partial(FactDeclaration, FactArea.LINKS, Stage.CONTENT)
_proof = partial(FactDeclaration, FactArea.AUTHENTICATION, Stage.CONTENT)
_signatures = partial(FactDeclaration, FactArea.SIGNATURES, Stage.CONTENT)
_DKIM = (
    AuthResult.PASS,
    AuthResult.FAIL,
    AuthResult.POLICY,
    AuthResult.NEUTRAL,
    AuthResult.TEMPERROR,
    AuthResult.PERMERROR,
)
_DMARC = (
    AuthResult.NONE,
    AuthResult.PASS,
    AuthResult.FAIL,
    AuthResult.TEMPERROR,
    AuthResult.PERMERROR,
)
_ARC = (AuthResult.NONE, AuthResult.PASS, AuthResult.FAIL, AuthResult.TEMPERROR)


class EvidenceFacts(ContentFacts, frozen=True, kw_only=True):
    """What is proved of a message, and what people have marked in it."""

    lists_content: Annotated[
        Words,
        _links(
            "lists.content",
            "DNS lists that list the From domain, a link or an address in the text",
            frozenset({"SURBL"}),
            form=TextForm.CAPITAL,
        ),
    ] = frozenset()
    dkim_domains: Annotated[
        Words,
        _proof(
            "dkim.domains",
            "domains whose DKIM signatures passed",
            frozenset({"example.org"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    dkim_results: Annotated[
        Words,
        _proof("dkim.results", "results of all DKIM signatures", frozenset({"pass"}), words=_DKIM),
    ] = frozenset()
    dkim_signatures: Annotated[
        int, _proof("dkim.signatures", "DKIM signatures, those not looked at included", 1)
    ] = 0
    dkim_unsigned: Annotated[
        int,
        _proof(
            "dkim.unsigned",
            (
                "octets of the body that the best signature of From's domain leaves out by "
                "its l= tag; of any signature where none of its own passed"
            ),
            0,
            unit="bytes",
        ),
    ] = 0
    dmarc_result: Annotated[
        str, _proof("dmarc.result", "DMARC of From's domain", "pass", words=_DMARC)
    ] = AuthResult.NONE.value
    dmarc_domain: Annotated[
        str,
        _proof(
            "dmarc.domain",
            "the domain in From that it is about: of several the one that asks for most",
            "example.org",
            form=TextForm.SMALL,
        ),
    ] = ""
    dmarc_policy: Annotated[
        str,
        _proof(
            "dmarc.policy",
            "what the domain publishes; none without a record",
            "quarantine",
            words=tuple(DmarcPolicy),
        ),
    ] = DmarcPolicy.NONE.value
    dmarc_disposition: Annotated[
        str,
        _proof(
            "dmarc.disposition",
            (
                "what it asks to be done with this message; none where a trusted ARC sealer "
                "saw it pass"
            ),
            "none",
            words=tuple(DmarcPolicy),
        ),
    ] = DmarcPolicy.NONE.value
    dmarc_aligned: Annotated[
        bool,
        _proof(
            "dmarc.aligned",
            "SPF or DKIM passed for From's domain, for each of several, record or not",
            True,
        ),
    ] = False
    arc_result: Annotated[
        str, _proof("arc.result", "the chain of ARC seals", "none", words=_ARC)
    ] = AuthResult.NONE.value
    arc_instances: Annotated[int, _proof("arc.instances", "ARC seals", 0)] = 0
    arc_trusted: Annotated[
        str,
        _proof(
            "arc.trusted",
            "the trusted sealer whose results are used, empty = none",
            "lists.example.org",
        ),
    ] = ""
    signatures_spam: Annotated[
        Words,
        _signatures(
            "signatures.spam",
            (
                "ids of the spam signatures that are found in it; not of those in shadow mode "
                "or with a score of their own"
            ),
            frozenset({"PILLS_BY_POST"}),
        ),
    ] = frozenset()
    signatures_ham: Annotated[
        Words,
        _signatures(
            "signatures.ham",
            "the same of signatures of good mail",
            frozenset({"MINUTES_OF_THE_CLUB"}),
        ),
    ] = frozenset()
    signatures_owners: Annotated[
        Words,
        _signatures(
            "signatures.owners",
            "owners of all signatures found in it that are live",
            frozenset({"anna"}),
        ),
    ] = frozenset()
    signatures_spam_why: Annotated[
        str,
        _signatures(
            "signatures.spam_why",
            "what `signatures.spam` are: id, words, owner and reason of each",
            'PILLS_BY_POST "cheap pills by post" (anna: campaign of November)',
        ),
    ] = ""
    signatures_ham_why: Annotated[
        str,
        _signatures(
            "signatures.ham_why",
            "the same of `signatures.ham`",
            'MINUTES_OF_THE_CLUB "minutes of the chess club" (bob)',
        ),
    ] = ""
    signatures_marks: Annotated[
        Words,
        _signatures(
            "signatures.marks",
            (
                "lists of signatures with the flag `mark` that have something in it: NAME, "
                "and NAME:2 to NAME:9 where they have so many"
            ),
            frozenset({"MONEY_WORDS", "MONEY_WORDS:2"}),
            form=TextForm.CAPITAL,
        ),
    ] = frozenset()
    signatures_marked: Annotated[
        str,
        _signatures(
            "signatures.marked",
            "what of those lists was found: the words or entities, three of them",
            '"next of kin", "transfer the sum"',
        ),
    ] = ""
