"""`oborona recheck`: delivered mail judged again."""
