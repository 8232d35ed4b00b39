"""Acts: calls that change something, a module a subject."""
