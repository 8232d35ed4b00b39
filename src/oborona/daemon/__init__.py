"""The processes of the service: one file or folder for each, named as the process, and the
supervisor that keeps them.
"""
