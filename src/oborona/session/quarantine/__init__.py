"""Messages that crash workers: which were in flight when a worker died, which are no longer
scanned, and what is kept of them for the admin.
"""
