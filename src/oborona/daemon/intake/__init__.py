"""The intake of feedback: the doors by which people report on their mail, and the process that
serves them.
"""
