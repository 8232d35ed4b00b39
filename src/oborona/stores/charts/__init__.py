"""Charts: what the daemon did in each ten minutes and each day."""
