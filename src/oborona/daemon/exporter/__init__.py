"""Tables of the clients and senders refused now, for look-ups by the mail server itself."""
