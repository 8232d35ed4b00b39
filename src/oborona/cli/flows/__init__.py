"""`oborona flows`."""
