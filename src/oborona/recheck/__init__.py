"""Delivered mail judged again, and moved where its verdict is another."""
