"""Incidents: excesses of accounts with their evidence, what was done, and what people said."""
