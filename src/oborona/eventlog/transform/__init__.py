"""What a batch computes: expressions of Ibis from tables to tables.

They hold no path, clock or engine, and nothing that engines do each in its own way: no lists, no
hashes, no rounding, no time zones. What runs them is chosen outside (`eventlog.engines`).
"""
