"""The facts of one message, or of what is known of it at a stage; `policy.fact_table` says what each means.

Facts not yet known at a stage hold the empty value of their type; rules that name them do not run there.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.authentication.model import Published, Result
from oborona.policy.known import Known
from oborona.reputation.flag import Flag

Words = frozenset[str]

TEXT_LIMIT: Final = 65_536  # characters of text that rules can search: what a reader looks at, and bounded work for every pattern
CODE_LIMIT: Final = 200  # characters of a code that rules can search: a link's host and path
NAME_LIMIT: Final = 255  # characters of a file's name that rules can search: more no file system takes
MAILER_LIMIT: Final = 200  # characters


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one message, or of what is known of it at a stage."""

    known: Known
    time_now: float = 0.0
    client_ip: str = ""
    client_name: str = ""
    client_local: bool = False
    client_own: bool = False
    client_country: str | None = None
    client_as_number: int | None = None
    client_as_name: str | None = None
    lists_client: Words = frozenset()
    iprev_result: str = Result.NONE.value
    repip_flag: str = Flag.UNKNOWN.value
    repip_share: float = 0.5
    sender_proved: str = ""
    repuser_flag: str = Flag.UNKNOWN.value
    repuser_share: float = 0.5
    repuser_first: bool | None = None
    author: str = ""
    author_domain: str = ""
    repentity_flag: str = Flag.UNKNOWN.value
    repentity_worst: float = 0.0
    repentity_bad: int = 0
    repentity_sudden: int = 0
    repentity_fresh: int = 0
    repentity_shared: Words = frozenset()
    repentity_why: str = ""
    karma: float = 0.0
    karma_why: str = ""
    helo: str = ""
    lists_sender: Words = frozenset()
    spf_result: str = Result.NONE.value
    spf_domain: str = ""
    spf_helo: str = Result.NONE.value
    sender: str = ""
    sender_domain: str = ""
    login: str = ""
    recipient: str = ""
    recipient_domain: str = ""
    recipients: int = 0
    recipients_traps: int = 0
    message_size: int = 0
    message_truncated: bool = False
    message_parts: int = 0
    message_depth: int = 0
    message_tree: str = ""
    headers: Words = frozenset()
    headers_count: int = 0
    received_count: int = 0
    subject: str = ""
    subject_raw: str = ""
    subject_capitals: float | None = None
    subject_digits: float | None = None
    subject_words: int = 0
    from_address: str = ""
    from_name: str = ""
    from_name_raw: str = ""
    from_domain: str = ""
    from_count: int = 0
    from_is_sender: bool = False
    from_domain_is_sender: bool = False
    from_name_has_address: bool = False
    reply_to_address: str = ""
    reply_to_domain: str = ""
    reply_to_differs: bool = False
    to_count: int = 0
    to_has_recipient: bool = False
    to_is_from: bool = False
    message_id: str = ""
    message_id_domain: str = ""
    message_id_is_from: bool = False
    date_age_hours: float | None = None
    mailer: str = ""
    urgent: bool = False
    bulk: bool = False
    automatic: bool = False
    unsubscribe: bool = False
    unsubscribe_one_click: bool = False
    text: str = ""
    text_raw: str = ""
    text_language: str | None = None
    text_charset: str = ""
    text_words: int = 0
    text_length: int = 0
    text_own_share: float | None = None
    text_hidden_share: float = 0.0
    html: bool = False
    html_only: bool = False
    html_share: float | None = None
    links: int = 0
    links_hosts: Words = frozenset()
    links_domains: Words = frozenset()
    links_redirected: Words = frozenset()
    links_anchors: int = 0
    links_forms: int = 0
    links_pictures: int = 0
    links_codes: int = 0
    links_documents: int = 0
    links_foreign: int = 0
    addresses: Words = frozenset()
    phones: Words = frozenset()
    wallets: Words = frozenset()
    handles: Words = frozenset()
    list_id: str = ""
    attachments: int = 0
    attachments_names: Words = frozenset()
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
    signatures_marks: Words = frozenset()
    signatures_marked: str = ""
    model_content: float | None = None
    model_spam_learned: int = 0
    model_ham_learned: int = 0
    model_meaning: float | None = None
    rspamd_says: str | None = None
    rspamd_score: float | None = None
    rspamd_symbols: Words = frozenset()
    spamd_says: str | None = None
    spamd_score: float | None = None
    spamd_symbols: Words = frozenset()
    clamd_says: str | None = None
    clamd_virus: str = ""
    findings: Words = frozenset()
    partial: bool = False
    mass_hour: int | None = None
    mass_day: int | None = None
    mass_fortnight: int | None = None
    mass_earlier: int | None = None
    mass_spam: int | None = None
    mass_complaints: int | None = None
    mass_pardons: int | None = None
    mass_traps: int | None = None
    mass_ips: int | None = None
    mass_senders: int | None = None
    mass_recipients: int | None = None

    def count(self, kind: int, window: int, metric: int) -> int | None:
        """Return one count of one type of piece; see `Known.count`."""
        return None if self.known.away else self.known.count(kind, window, metric)

    def ham(self, kind: int, window: int) -> int | None:
        """Return how many were seen and were not spam."""
        return None if self.known.away else self.known.ham(kind, window)

    def spam_share(self, kind: int, window: int) -> float | None:
        """Return the expected share of spam, 0.5 for no history."""
        return None if self.known.away else self.known.spam_share(kind, window)

    def robotic(self, kind: int) -> float | None:
        """Return how regularly it came in the last day; see `Known.robotic`."""
        return self.known.robotic(kind)

    def found(self, name: str) -> bool:
        """Tell whether there is a finding of this name."""
        return name in self.findings
