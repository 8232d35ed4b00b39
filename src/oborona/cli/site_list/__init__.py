"""`oborona list`: the site's own lists."""
