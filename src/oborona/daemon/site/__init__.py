"""A site of several machines: who is of it, what a machine begins with, what it follows."""
