"""Acts: calls that change something, one module a subject."""
