"""A person taken out of all tables of a log, and every count of rows still exact behind it."""
