"""SMTP sessions: the evidence gathered on a connection, the verdict on each message, its reply and
its journal entry.
"""
