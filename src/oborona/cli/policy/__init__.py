"""`oborona policy`: files, checks, replay, statistics."""
