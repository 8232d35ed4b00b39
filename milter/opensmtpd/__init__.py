"""The adapter for OpenSMTPD: a filter that smtpd starts, and that asks the milter door."""
