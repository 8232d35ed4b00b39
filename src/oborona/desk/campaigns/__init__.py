"""Campaigns that need a person: gathered from what was said, and from the mail that came."""
