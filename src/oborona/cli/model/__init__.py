"""`oborona model`: content model and final model."""
