"""The proxy: SMTP or LMTP passed on to a mail server command by command, whose messages are judged
on the way.
"""
