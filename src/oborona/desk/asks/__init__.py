"""Asks: what is read of a site, a module for each subject."""
