"""Messages: found, explained, told as a story, taken apart; what is gathered for asks."""
