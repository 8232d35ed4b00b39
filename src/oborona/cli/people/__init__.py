"""`oborona people`: who may log in to the console."""
