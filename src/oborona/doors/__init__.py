"""What carries a session: listeners and protocols, each a folder, and the seam between them and a
session.
"""
