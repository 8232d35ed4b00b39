"""What people and traps said of mail, gathered for asks and acts."""
