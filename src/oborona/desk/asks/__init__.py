"""Asks: what commands, API and pages are told of a site, a module a subject."""
