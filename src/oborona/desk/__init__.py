"""The desk: acts on a site and what is written down of them, one for commands, API and pages."""
