"""The report of event logs: figures of their book, as an object and as a page."""
