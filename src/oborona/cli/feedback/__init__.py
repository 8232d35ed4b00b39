"""`oborona feedback`: what people said, and whether it was believed."""
