"""Mail of our own people in the mail server's queue."""
