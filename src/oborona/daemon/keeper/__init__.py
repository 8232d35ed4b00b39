"""The second look as a part of the keeper: what it follows, what it works with, and what it
tells.
"""
