"""Versions of the site's policy folder: what it held when, and who made it so."""
