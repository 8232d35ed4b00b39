"""What asks and acts on people have in common: how they are shown, and who may change whom."""
