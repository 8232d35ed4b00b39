"""The processing of feedback events, and the stores that it uses: the journal, people's own lists,
the book of signatures.
"""
