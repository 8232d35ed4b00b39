"""`oborona address`: what the world and we know of an address of ours."""
