"""The doctor: each part is asked whether it works, and what to do if not."""
