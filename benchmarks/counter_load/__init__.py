"""The load of `oborona counters bench`: mail's mix of shingles on a store, by real processes."""
