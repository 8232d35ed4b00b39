"""The delivery door: LMTP between the mail server and the mailboxes, where each copy of a message
has one reader.
"""
