"""Alerts: somebody is told, by webhook or mail, of what should not wait until an admin looks."""
