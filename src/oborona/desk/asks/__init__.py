"""The desk's asks, a module for each subject."""
