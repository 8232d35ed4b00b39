"""The processes: what is told of each."""
