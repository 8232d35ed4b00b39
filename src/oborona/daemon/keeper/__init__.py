"""Rechecks of delivered mail as a part of the keeper: the changes that it follows, the stores that
it uses, and its reports.
"""
