"""Batches: which tables are due, what was done of each, step by step."""
