"""A reader's own mail: their word on it, their copies, their lists."""
