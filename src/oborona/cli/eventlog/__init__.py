"""`oborona eventlog`."""
