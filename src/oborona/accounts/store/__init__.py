"""The file of accounts: who they are, what they may do, their ratings and incidents."""
