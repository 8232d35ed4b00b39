"""The door for clients of SpamAssassin's spamd, and for Exim, which speaks to it as to an old
rspamd (docs/mail-servers/spamd.md).
"""
