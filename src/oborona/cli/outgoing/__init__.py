"""`oborona outgoing`: what our own people send."""
