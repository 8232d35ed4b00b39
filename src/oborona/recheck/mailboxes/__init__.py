"""Readers' mailboxes: locate a delivered message and move it to a folder before it is read."""
