"""The inspector: what becomes of an account that went over a limit."""
