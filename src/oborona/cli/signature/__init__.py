"""`oborona signature`: signatures of the store."""
