"""`oborona personal`: lists of single persons."""
