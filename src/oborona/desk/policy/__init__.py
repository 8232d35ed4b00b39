"""The policy as people change it: drafts, what they would do, versions, publication."""
