"""Entities as people name them: their pasts, and what is set by hand."""
