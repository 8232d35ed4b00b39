"""User feedback: reports are recorded, checked against abuse, and learned from."""
