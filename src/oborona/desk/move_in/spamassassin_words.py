"""The words of SpamAssassin's configuration: which are lists, which rules, why others stay behind.

Source: Mail::SpamAssassin::Conf 4.0.  Words are those from before 4.0: `whitelist` for
`welcomelist`, `blacklist` for `blocklist`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject

_SENDERS: Final = (ListSubject.SENDER, ListSubject.FROM)
_RECIPIENTS: Final = (ListSubject.RECIPIENT,)


class TheirList(NamedTuple):
    """What a list of theirs is here.

    Args:
        action: of it.
        of: what it is about.
        pairs: an address and something that proves it.
        unproved: it believed what anybody can write.
        why: it is not carried over, and why.
        note: what else is to be known.
    """

    action: ListAction = ListAction.ALLOW
    of: tuple[ListSubject, ...] = _SENDERS
    pairs: bool = False
    unproved: bool = False
    why: str = ""
    note: str = ""


_SOFT: Final = "takes some points off there; a list here lets in whatever the score"
LISTS: Final = {
    "whitelist_from": TheirList(unproved=True),
    "whitelist_from_rcvd": TheirList(
        pairs=True,
        note="whitelist_from_rcvd asks for the host that sent it: here SPF or DKIM is asked for",
    ),
    "whitelist_auth": TheirList(),
    "whitelist_from_spf": TheirList(),
    "whitelist_from_dkim": TheirList(
        pairs=True,
        note="whitelist_from_dkim may name another signing domain: here From's own has to be proved",
    ),
    "whitelist_from_dmarc": TheirList(),
    "whitelist_allows_relays": TheirList(why="is about whitelist_from_rcvd, which asks for no relay here"),
    "whitelist_to": TheirList(why=_SOFT),
    "more_spam_to": TheirList(why=_SOFT),
    "all_spam_to": TheirList(of=_RECIPIENTS),
    "blacklist_from": TheirList(ListAction.DENY),
    "blacklist_to": TheirList(ListAction.DENY, _RECIPIENTS),
    "def_whitelist_from_rcvd": TheirList(why=_SOFT),
    "def_whitelist_auth": TheirList(why=_SOFT),
    "def_whitelist_from_spf": TheirList(why=_SOFT),
    "def_whitelist_from_dkim": TheirList(why=_SOFT),
    "def_whitelist_from_dmarc": TheirList(why=_SOFT),
}  # fmt: skip
RULES: Final = frozenset(
    {"header", "body", "rawbody", "full", "uri", "uri_detail", "mimeheader", "meta", "describe"}
    | {"score", "tflags", "priority", "test", "reuse", "lang"}
)
CONDITIONS: Final = frozenset({"ifplugin", "if", "else", "endif", "require_version"})
"""Words that say nothing themselves."""

_BAYES: Final = (
    "tokens are hashes of other pieces here: `oborona learn` from Junk folders and inboxes instead"
)
_REASONS: Final = (
    (("bayes", "use_bayes", "use_learner"), _BAYES),
    (("dcc", "use_dcc", "pyzor", "use_pyzor", "razor", "use_razor"), "counters learn copies by themselves, within a day"),
    (("txrep", "auto_w", "use_auto_w", "use_txrep"), "its past is not carried over; reputation learns within days"),
    (("loadplugin", "tryplugin"), "plug-ins are Perl, which is not run"),
    (("trusted_networks", "internal_networks", "msa_networks", "clear_trusted", "clear_internal"), "networks of the site are `site.networks` in oborona.toml: say them there"),
    (("ok_languages", "ok_locales"), "no language is unwanted as it ships: write a rule with `text.language`"),
    (("rbl", "urirhs", "uridns", "dns", "skip_rbl", "skip_uribl", "clear_dns", "util_rb", "clear_uridns"), "DNS lists are said in the policy: docs/senders/dns-lists.md"),
    (("add_header", "remove_header", "clear_headers", "rewrite_header", "report", "clear_report", "unsafe_report", "clear_unsafe"), "headers and subjects are those of docs/operate/headers.md"),
    (("shortcircuit",), "a list decides at once here, and no rule does"),
    (("freemail", "enlist", "delist", "redirector", "url_shortener", "clear_url"), "words of a plug-in or of rules that are not carried over"),
    (("include",), "lies elsewhere: copy that file into the folder"),
)  # fmt: skip


def reason_for(word: str, *, personal: bool) -> str:
    """Return why a line stays behind, by its first word."""
    if personal and word in RULES:
        return "a person has no rules or scores here: lists and strictness"
    return next(
        (why for begins, why in _REASONS if word.startswith(begins)),
        "there is no such setting here",
    )
