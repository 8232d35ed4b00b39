"""`oborona counters`: what is counted."""
