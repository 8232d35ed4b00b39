"""Rules that are not held against a person for a while, because somebody says so."""
