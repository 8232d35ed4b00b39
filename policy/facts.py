"""The facts of one message, or of what is known of it at a stage; `policy.fact_table` says what each means.

Facts not yet known at a stage hold the empty value of their type; rules that name them do not run there.
"""

from __future__ import annotations

import msgspec

from oborona.authentication.model import Published, Result
from oborona.policy.known import Known
from oborona.reputation.address import Flag

Words = frozenset[str]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one message, or of what is known of it at a stage."""

    known: Known
    client_ip: str = ""
    client_name: str = ""
    client_local: bool = False
    client_own: bool = False
    client_country: str = ""
    client_as_number: int = 0
    client_as_name: str = ""
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
    text_language: str = ""
    text_charset: str = ""
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
    pictures_codes: Words = frozenset()
    pictures_text: str = ""
    pictures_words: int = 0
    pictures_only: bool = False
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
    signatures_spam: Words = frozenset()
    signatures_ham: Words = frozenset()
    signatures_owners: Words = frozenset()
    signatures_spam_why: str = ""
    signatures_ham_why: str = ""
    findings: Words = frozenset()
    partial: bool = False
    mass_hour: int = 0
    mass_day: int = 0
    mass_fortnight: int = 0
    mass_spam: int = 0
    mass_complaints: int = 0
    mass_ips: int = 0
    mass_senders: int = 0
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
