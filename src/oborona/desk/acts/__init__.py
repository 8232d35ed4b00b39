"""The desk's acts, a module for each subject."""
