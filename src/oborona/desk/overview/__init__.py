"""The first page: what it gathers."""
