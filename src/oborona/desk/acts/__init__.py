"""Acts: what commands, API and pages do to a site, a module a subject."""
