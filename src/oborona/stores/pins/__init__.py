"""What analysts say of entities while mail is judged: pins, notes, and who did what."""
