"""Passkeys of people: what authenticators are asked, and what is believed of their answers."""
