"""Judgements on an entity from its time-line: one file for each measure, and `judge`, which makes
points and a flag of them.
"""
