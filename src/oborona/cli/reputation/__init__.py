"""`oborona reputation`: histories of senders, and what is set by hand."""
