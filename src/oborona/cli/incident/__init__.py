"""`oborona incident`: accounts that went over a limit, and what people say of them."""
