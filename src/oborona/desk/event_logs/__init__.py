"""Event logs as calls use them."""
