"""What people say of mail: taken, believed or not, learned from."""
