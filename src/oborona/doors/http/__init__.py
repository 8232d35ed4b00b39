"""The HTTP door: rspamd's /checkv2 for its clients, and our own /v1/scan
(docs/mail-servers/http.md).
"""
