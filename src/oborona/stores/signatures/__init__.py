"""The store of signatures: what analysts add while mail is judged, and how often each signature was
found.
"""
