"""What is told of the service: log lines, status, metrics, alerts."""
