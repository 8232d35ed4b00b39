"""What `oborona explain` tells: of a journal entry as it was then and as it would be now, of a
message file as it is now.
"""
