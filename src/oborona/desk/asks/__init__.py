"""Asks: calls that only read, one module a subject."""
