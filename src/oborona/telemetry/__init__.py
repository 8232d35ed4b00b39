"""Telemetry of the service: log lines, status, metrics, alerts."""
