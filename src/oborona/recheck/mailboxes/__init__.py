"""Mailboxes of readers: where a delivered message is now, and taking it to another folder before it
is read.
"""
