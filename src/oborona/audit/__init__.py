"""The audit log: who did what to this site, about what, why, and what came of it.

A leaf: it imports nothing of other rooms, so that each of them may write to it.
"""
