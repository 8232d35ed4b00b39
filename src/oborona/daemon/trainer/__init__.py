"""Whoever believes what people say, and the stores that they ask: the journal, people's own lists,
the book of signatures.
"""
