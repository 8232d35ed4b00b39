"""Tables of events in Parquet, and their checksums."""
