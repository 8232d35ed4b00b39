"""Events are decided, and each decision is carried out once."""
