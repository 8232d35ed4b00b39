"""Asks: calls that only read, a module a subject."""
