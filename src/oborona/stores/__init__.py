"""What several processes follow: pins, signatures, persons, models, databases of places."""
