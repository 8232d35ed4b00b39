"""`oborona explain`: why a message was judged as it was."""
