"""The transports of a session: listeners and protocols, one folder each, and their interface to the
session.
"""
