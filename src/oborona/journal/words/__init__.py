"""Search files: which messages of a day may have a word."""
