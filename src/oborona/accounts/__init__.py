"""Accounts of our own people: who sends from here, how much, and what is done about it."""
