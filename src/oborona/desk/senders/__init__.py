"""What senders are told whose mail was refused, and what they may ask."""
