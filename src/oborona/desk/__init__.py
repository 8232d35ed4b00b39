"""The desk: asks and acts on a site, one for commands, API and pages."""
