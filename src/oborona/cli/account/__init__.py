"""`oborona account`: who sends from here, and what they may do."""
