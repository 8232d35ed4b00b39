"""What in a document acts by itself: macros, scripts, programs inside, templates from elsewhere.
Found by structure, never run.
"""
