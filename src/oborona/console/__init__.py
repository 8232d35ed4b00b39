"""The console: pages in a browser, made of what the desk answers. It opens no store and holds no
secret.
"""
