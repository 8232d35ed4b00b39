"""Event logs begin here: our own stores, and files that others drop, become tables."""
