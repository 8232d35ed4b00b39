"""What computes event logs: DuckDB within the process, or Spark; both are told the same."""
