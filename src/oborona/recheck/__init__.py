"""The recheck: delivered mail is judged again, and moved if its verdict has changed."""
