"""How fast a counter store is: mail's mix of shingles put to a filled store by real processes."""
