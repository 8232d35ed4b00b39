"""The record of verdicts: written, read, searched, indexed."""
