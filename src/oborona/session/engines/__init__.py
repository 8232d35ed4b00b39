"""Other engines that are asked about the same messages: rspamd, SpamAssassin, ClamAV
(docs/mail-servers/engines.md).
"""
