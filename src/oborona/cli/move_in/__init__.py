"""`oborona move-in`: what another filter was told becomes ours, and both are compared."""
