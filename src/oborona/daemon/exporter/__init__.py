"""Tables of who is refused now, written for the mail server's own look-ups."""
