"""Moves of the recheck, gathered and decided for asks and acts."""
