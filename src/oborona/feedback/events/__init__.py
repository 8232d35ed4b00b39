"""Feedback events of people, traps and sites: stored before the acknowledgement, decided later."""
