"""The parsers that are fuzzed, of messages, of what an admin writes and of what is stored: what
must hold of each, how long its inputs are, and the words they are made of.

A target takes octets and fails by an exception. Those that take more than octets find it in the
first line. All hold in common that nothing is raised, that findings have known names, and that what
one input costs stays within `watched.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.fuzz import (
    of_accounts,
    of_attachments,
    of_doors,
    of_events,
    of_messages,
    of_old_filters,
    of_pages,
    of_policies,
    of_reports,
    of_stores,
    of_texts,
    of_wires,
)

# seconds: a letter of 2 kB takes 5 ms, twice; what takes the square of its size passes that soon
A_MB_S: Final = 20.0


class Target(NamedTuple):
    """A parser under test."""

    holds: Callable[[bytes], object]
    # octets of an input: enough for what the parser reads, few enough for thousands a second
    longest: int
    words: tuple[bytes, ...] = ()  # what inputs are made of, beside what coverage teaches
    s_a_mb: float = A_MB_S  # CPU beyond `watched.START_S`, by the size of an input


_FIELDS: Final = (
    b"From: ", b"Subject: ", b"Content-Type: multipart/mixed; boundary=b\n", b"Content-Type: text/html; charset=utf-7\n", b"\n\n", b"--b\n", b"--b--\n",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n", b"Content-Type: message/rfc822\n", b"=?utf-8?q?", b"=?gb2312?B?",
    b"filename*0*=utf-8''", b"name*1=", b"Content-Disposition: attachment; filename=", b"begin 644 a\n",
)  # fmt: skip
_TAGS: Final = (
    b"<a href=", b"<style>", b"</style>", b"<div style='", b"display:none", b"color:#fff", b"font-size:0", b"<table>", b"<td>", b"<!--", b"-->", b"<script>", b"&#0;",
    b"<blockquote type=cite>", b"class=gmail_quote", b"<img src=", b"<base href=", b"<svg>", b"<math>", b"<template>", b"<body ", b"hidden", b"{visibility:hidden}", b"@media",
)  # fmt: skip
_PLACES: Final = (
    b"http://", b"https%3A%2F%2F", b"aHR0cDovL", b"68747470", b"?url=", b"urldefense.com/v3/__", b"google.com/url?q=", b"xn--", b"0x7f.1", b"[::1]", b"@", b"hxxp://", b"[.]", b" dot ",
    b"(at)", b"t.me/", b"+7 905 123-45-67", b"tel:", b"bitcoin:", b"0x", b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", b"wa.me/", b"skype:", b"\xd1\x82\xd0\xb5\xd0\xbb", b"\xe2\x80\x8b",
)  # fmt: skip
_DOCUMENT_MARKS: Final = (
    b"%PDF-", b"/JavaScript", b"/ObjStm", b"stream\n", b"endstream", b"{\\rtf", b"\\objdata", b"<script", b"http-equiv=refresh", b"type=password", b"\xe7\x16\xe3\xbd\x65\x26\x11\x45",
)  # fmt: skip
_PAPER: Final = (
    b"%PDF-1.7\n", b"1 0 obj\n", b"endobj\n", b"xref\n0 9\n", b"trailer", b"startxref\n", b"%%EOF", b"<</Type/Pages/Kids[", b"/Annots[", b"/A<</URI(", b"<feffd800>", b"/Filter/FlateDecode",
    b"/Type/ObjStm", b"stream\n", b"endstream", b"/Encrypt", b"/Contents 5 0 R", b"BT /F1 9 Tf (a) Tj ET", b"/ToUnicode", b"beginbfchar <00> <d800> endbfchar", b"/Do", b" 0 R",
)  # fmt: skip
_QUOTES: Final = (
    b"\n> ", b"\n-- \n", b"-----Original Message-----", b" wrote:", b"\n__________", b"From: ", b"Sent: ", b"v1agra", b"v i a g r a", b"http://", b"\xd0\xbe", b"\xcc\x81",
)  # fmt: skip

# marks of several classes, of which letters get many, and characters of which normalisation makes
# more
_SIGNS: Final = (
    b"\xcc\x81" * 40, b"\xcc\x96" * 40, b"\xcc\x81\xcc\x96", b"\xef\xb7\xba", b"\xe3\x8c\x96", b"\xe0\xbd\xb3", b"\xef\xbe\x9e", b"\xe1\x84\x92\xe1\x85\xa1", b"\xe2\x80\x8d",
)  # fmt: skip

_CONDITIONS: Final = (
    b"count[From].day.seen", b"from.domain", b"text.words", b"links.hosts", b" and ", b" or ", b"not ", b" in ", b"any_of(", b"it", b"matches(subject, r'", b"contains(", b"none",
    b" if ", b" else ", b"rate(count[From], 'hour')", b"robotic(count[From])", b"distinct('recipients per sender')", b"hour('Europe/Moscow')", b"model.content", b" ** ", b"{links:.0%}",
)  # fmt: skip

_REPORTS: Final = (
    b"Content-Type: message/feedback-report\n\n", b"Content-Type: text/rfc822-headers\n\n", b"Content-Type: message/rfc822\n\n", b"Feedback-Type: abuse\n", b"Original-Rcpt-To: a@b.example\n",
    b"X-Mras-Id: 0000000000007.JLEIJFTV2NXDLBFU\n", b"Message-ID: <a@b>\n", b"name=a.eml\n", b"Auto-Submitted: ", b"Received: by mx id 4ABCDEF\n",
    b"Content-Type: message/delivery-status\n\n", b"\nAction: failed\n", b"Final-Recipient: rfc822; a@b.example\n", b"Original-Recipient: utf-8; ", b"Status: 5.1.1\n", b"Diagnostic-Code: smtp; 550 5.1.1 ",
)  # fmt: skip

_SMTP: Final = (
    b"XCLIENT\n", b"XFORWARD\n", b"MAIL\n", b"RCPT\n", b"AUTH\nPLAIN\n", b"AUTH\nCRAM-MD5\n", b"AUTH\nXOAUTH2\n", b"DATA\n", b"\nFROM:<", b"TO:<", b"> SIZE=1", b" BODY=8BITMIME", b"NAME=",
    b" ADDR=IPV6:2001:db8::1", b" LOGIN=", b"[UNAVAILABLE]", b"+20", b"\r\n.\r\n", b"\r\n..", b"250-a\r\n250 b\r\n",
)  # fmt: skip
_SPAMC: Final = (
    b"CHECK SPAMC/1.5\r\n", b"TELL SPAMC/1.5\r\n", b"CHECK RSPAMC/1.3\r\n", b"PING SPAMC/1.2\r\n", b"Content-length: ", b"Compress: zlib\r\n", b"User: joe\r\n", b"Set: local\r\n", b"IP: 192.0.2.9\r\n",
    b"Message-class: spam\r\n", b"Rcpt: <joe@example.test>\r\n", b"\r\n\r\n", b"From joe@a.example Sun Nov 22\n", b"X-Envelope-From: <a@b>\n", b"X-Envelope-To: ", b"Return-Path: <", b"Received: from ",
)  # fmt: skip
_MILTER: Final = (
    b"\0\0\0\rO\0\0\0\6\0\0\1\xff\0\0\0\0", b"\0\0\0\1N", b"\0\0\0\1E", b"C", b"a.example\0004\0\x19192.0.2.9\0", b"M<a@b>\0", b"R<c@d>\0", b"LSubject\0hi\0", b"Di\0004F3\0{auth_authen}\0joe\0",
)  # fmt: skip
_DNS_WORDS: Final = (
    b"v=spf1 include:a.example -all", b"v=spf1 a mx ptr exists:%{i}.a.example redirect=b.example", b"ip4:192.0.2.0/24", b" +all", b"v=DMARC1; p=reject; ", b"sp=none; adkim=s; pct=50; rua=mailto:a@b; psd=y",
    b"v=DKIM1; k=rsa; p=", b"DKIM-Signature: v=1; a=rsa-sha256; d=a.example; s=s; h=from; bh=; b=\r\n", b"ARC-Seal: i=1; cv=none; a=rsa-sha256; d=a.example; s=s; b=\r\n", b"From: ann@a.example\r\n", b"%{", b"?\n",
)  # fmt: skip
_RECEIVED: Final = (
    b"from a ", b"(b.example [192.0.2.9])", b"([192.0.2.9] helo=a)", b"(HELO a) (192.0.2.9)", b"\n\tby mx (Postfix) with ESMTPSA id 4F3", b" with esmtpsa", b"(Exim 4.96)", b"(OpenSMTPD)", b"\n\tfor <a@b>;",
    b"(Authenticated sender: joe)", b"[IPv6:2001:db8::1]", b"(may be forged)", b"(qmail 1 invoked from network)", b" auth=yes user=joe", b"(envelope-from <a@b>)",
)  # fmt: skip

TARGETS: Final[dict[str, Target]] = {
    "message": Target(of_messages.whole, 16_384, (*_FIELDS, *_TAGS, *_PLACES)),
    "mime": Target(of_messages.parts, 8_192, _FIELDS),
    "headers": Target(of_messages.fields, 4_096, _FIELDS),
    "charset": Target(of_messages.in_charset, 2_048, (b"utf-7\n", b"utf-16\n", b"iso-2022-jp\n", b"hz\n", b"big5\n", b"koi8-r\n", b"=?utf-8?q?", b"=?x?b?")),
    "transfer": Target(of_messages.transferred, 4_096, (b"begin 644 a\n", b"\nend\n", b"=3D", b"=\n", b"====")),
    "page": Target(of_messages.web_page, 8_192, _TAGS),
    "sheet": Target(of_messages.style_sheet, 4_096, _TAGS),
    "links": Target(of_messages.any_links, 2_048, _PLACES),
    "contacts": Target(of_messages.any_contacts, 4_096, _PLACES),
    "normal": Target(of_messages.normal_form, 16_384, _SIGNS),
    "native": Target(of_messages.native, 4_096, (*_TAGS, *_SIGNS, b".*", b"(a+)+", b"\\w{1,99}", b"[^\\n]*\n")),
    "passes": Target(of_texts.both_ways, 4_096, (*_TAGS, *_PLACES, *_QUOTES, *_SIGNS, b" a b c ", b"v1agra", b"one two ", b" 7 ", b"(at)", b"www.", b"://", b"\xe3\x80\x80", b"\n> ", b"From: ", b"\0")),
    "words": Target(of_messages.own_and_words, 4_096, _QUOTES),
    "zip": Target(of_attachments.archive("zip"), 8_192, (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")),
    "rar": Target(of_attachments.archive("rar"), 8_192, (b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00")),
    "7z": Target(of_attachments.archive("7z"), 8_192, (b"7z\xbc\xaf\x27\x1c",)),
    "tar": Target(of_attachments.archive("tar"), 8_192, (b"ustar\x0000", b"ustar  ", b"path=", b"././@LongLink")),
    "iso": Target(of_attachments.disk_image, 16_384, (b"\1CD001\1", b"\2CD001\1")),
    "streams": Target(of_attachments.streams, 8_192, (b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0")),
    "compound": Target(of_attachments.compound_file, 32_768, (b"_\0V\0B\0A\0_\0", b"Attribut")),
    "macros": Target(of_attachments.macro_source, 8_192, (b"\0Attribut",)),
    "documents": Target(of_attachments.document, 8_192, _DOCUMENT_MARKS),
    "attachment": Target(of_attachments.any_attachment, 32_768, (b".iso\n", b".docx\n", b"PK\x03\x04", b"[Content_Types].xml", b"vbaProject.bin", *_DOCUMENT_MARKS)),
    "tnef": Target(of_attachments.envelope, 8_192, (b"\x78\x9f\x3e\x22", b"\x0f\x80\x06\0", b"\x05\x90\x06\0", b"\x13\x10")),
    "own": Target(of_messages.own, 4_096, (*_QUOTES, b"sent from my iphone\n", b"if you are not the intended recipient", b". ", b"-----BEGIN PGP SIGNED MESSAGE-----\n")),
    "letters": Target(of_messages.letters, 1_024, (b"\xe2\x80\xae", b"\xe2\x80\xac", b"\xd0\xbe", b"\xf0\x9d\x90\x9a", b"\xc2\xad", b"\xcc\x81")),
    "card": Target(of_messages.card, 4_096, (b"BEGIN:VCALENDAR\n", b"SUMMARY:", b"DESCRIPTION;ENCODING=QUOTED-PRINTABLE:", b"\\n", b"END:VCALENDAR\n")),
    "wrapped": Target(of_attachments.wrapped, 8_192, (b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02", b"\x30\x80", b"\xa0\x80", b"\x24\x80", b"\0\0")),
    "picture": Target(of_attachments.picture, 16_384, (b"\x89PNG\r\n\x1a\n", b"IHDR", b"IDAT", b"GIF89a", b"\xff\xd8\xff\xe0", b"BM", b"RIFF", b"WEBPVP8 ", b"II*\0")),
    "paper": Target(of_attachments.paper_read, 4_096, _PAPER),
    "kind": Target(of_attachments.kind_of, 4_096),
    "report": Target(of_reports.letter, 8_192, (*_REPORTS, *_FIELDS)),
    "expression": Target(of_policies.expression, 1_024, _CONDITIONS),
    "policy": Target(of_policies.policy, 4_096, (b"[[rule]]\n", b"[[condition]]\n", b"[[group]]\n", b"[[rule.test]]\n", b"name = 'A'\n", b"score = 1\n", b"when = '", b"[verdict]\n", b"[[signature]]\n", *_CONDITIONS)),
    "script": Target(of_policies.script, 2_048, (b"oborona.rule{name='A',score=1,when=function(f) return ", b" end}\n", b"oborona.check{name='a',", b"f.links", b"[[", b"]]", b"--[==[", b"while true do end", b"string.rep('a', 1e9)")),
    "weights": Target(of_policies.weights, 4_096, (b'{"epoch":', b'"position":', b'"calibration":', b'"persons":"', b"NaN", b"1e999")),
    "final": Target(of_policies.final_model, 8_192, (b"\xa6format", b"\xa8features", b"\xa5depth", b"\xa6places", b"\xa7borders", b"\xc4", b"\xcb")),
    "row": Target(of_policies.journal_row, 2_048, (b"[]\0", b"{}\0", b'[{"name":"A","score":1}]', b"NaN", b"\xed\xa0\x80")),
    "kept": Target(of_policies.kept, 4_096, (b"\xa6counts", b"\xa4away", b"\xa8listings", b"\xa7opinion", b"\xdd\xff\xff\xff\xff")),
    "exim": Target(of_doors.exim, 4_096, (b"oborona/1 ", b"data ", b"rcpt ", b"connect ", b" ip=192.0.2.9", b" headers64=", b" body64=", b" rcpts64=", b" from64=", b" count=9", b" after=mail", b" size=99", b" id=", b"more=yes\n")),
    "spamd": Target(of_doors.spamd_door, 4_096, (*_SPAMC, *_RECEIVED)),
    "received": Target(of_doors.received_line, 2_048, _RECEIVED),
    "engine": Target(of_doors.engine, 2_048, (b"rspamd\n", b'{"action":"', b'"score":1e999', b'"symbols":{"A":{"score":-1}}', b"spamd\nSPAMD/1.1 0 EX_OK\r\n", b"Spam: True ; 1e9 / 5.0\r\n", b"Content-length: 3\r\n", b"clamd\nstream: ", b" FOUND\0")),
    "letter": Target(of_doors.whole_letter, 4_096, (b"\r\n\r\n", b"\n\n", b"A: b\n", b"A:\r\n", b"\n \n", b"\r", b" : ")),
    "proxy": Target(of_doors.proxy, 2_048, _SMTP),
    "http": Target(of_doors.http, 4_096, (b"IP:192.0.2.9\n", b"Rcpt:a@b,c@d\n", b"From:<", b'\n{"raw":"', b'"recipients":["', b'"stage":"sender"', b'"client":{"ip":"', b'"after":null')),
    "form": Target(of_pages.form, 4_096, (b"x\n", b"\r\n--x", b"--x--\r\n", b'Content-Disposition: form-data; name="q"', b'; filename="a"', b"\r\n\r\n", b"\nq=", b"&", b"%F0%9F", b"%00", b"+", b"@", b"192.0.2.0/24", b"0SAH375J007Q5")),
    "opensmtpd": Target(of_doors.opensmtpd, 2_048, (b"filter|0.7|1.5|smtp-in|data-line|ab|7f|", b"report|0.6|1.5|smtp-in|link-auth|ab|", b"\n.", b"\r\n..")),
    "account": Target(of_accounts.told, 2_048, (b'{"account":"', b'"registration":{"phone":"+49', b'"networks":[{"network":"192.0.2.0/28","role":"', b'"since":1e308', b'"limit":"', b'"window":"hour","value":NaN', b'{"reason":"x","for":"2h","until":')),
    "events": Target(of_events.sent, 2_048, (b'{"i":"c1","e":"click","t":1763892000,', b'"u":"bob","n":1.5,"c":7,"f":true}\n', b"[", b"]", b"1e999", b"NaN", b"\\ud800", b"9" * 40, b'"i":', b'{"e":')),
    "queue": Target(of_accounts.queued, 2_048, (b'{"queue_name": "hold", "queue_id": "4hG5kz1nYwzB9x", "arrival_time": 1800000000, "sender": "', b'"recipients": [{"address": "', b"1e300", b'"}]}\n', b" 0m   431 1tF3aB-0000Qx-2k <", b"> *** frozen ***\n          ", b"\n\n")),
    "old-filter": Target(of_old_filters.configuration, 2_048, (b"rspamd\n", b"amavis\n", b"mailcow\n", b"spamassassin\n", b"whitelist_from *@a.example\n", b"body A /", b"header A Subject =~ ", b"@whitelist_sender_maps = (", b"new_RE(qr'", b"read_hash(", b"INSERT INTO `filterconf` VALUES (", b"','", b"\\'", b'{"multimap":{"A":{"type":"from","score":9,"map":["', b'"]}}}', b"(?i)", b"[", b"{")),
    "milter": Target(of_wires.milter, 2_048, _MILTER),
    "policy-service": Target(of_wires.policy_service, 2_048, (b"request=smtpd_access_policy\n", b"protocol_state=RCPT\n", b"client_address=", b"sender=", b"recipient=a@b\n", b"\n\n", b"\0")),
    "sieve": Target(of_wires.sieve, 2_048, (b"VERSION\tscript\t4\t0\n", b"env_USER=joe\n", b"-\n", b"noreply\n", b"what=complaint\n", b"user=joe\n", b"\n\n", b"\1t")),
    "name-server": Target(of_wires.name_server, 1_232, (b"\xc0\x0c", b"\xc0", b"\0\5\0\1\0\0\1\0\0\2", b"\0\20\0\1\0\0\1\0\0\4\3a=b", b"\0\6\0\1", b"\0\1\0\1\0\0\1\0\0\4", b"\1a\7example\0")),
    "cluster": Target(of_wires.cluster_map, 2_048, (b"*3\r\n", b":0\r\n", b":16383\r\n", b":99999999999\r\n", b"$9\r\n192.0.2.1\r\n", b"-MOVED 1 a:1\r\n", b"-ASK x y\r\n", b"-ERR This instance has cluster support disabled\r\n", b"$-1\r\n")),
    "lying-dns": Target(of_wires.lying_dns, 4_096, _DNS_WORDS),
    "record": Target(of_stores.counter_record, 2_048),
    "spool": Target(of_stores.spool_record, 4_096, (b"OBSP", b"OBSP\1\0\1\0", b"OBSP\2\0\1\0", b"OBSP\3\0\1\0")),
    "entry-name": Target(of_stores.entry_name, 64, (b"0000000000007", b".JLEIJFTV2NXDLBFU", b"O", b"l")),
}  # fmt: skip
"""name -> parser"""
