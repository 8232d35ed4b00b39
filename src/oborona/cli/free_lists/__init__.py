"""The DNS lists that are free for a site, as `oborona attach` offers them."""
