"""What was said is decided on, and what follows from it is done, once each."""
