"""The recheck's engine: delivered messages are judged again, decided copy by copy, and moved."""
