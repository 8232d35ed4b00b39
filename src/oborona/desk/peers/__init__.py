"""Desks of several machines that trust each other."""
