"""Asks: what the desk tells, a module a subject."""
