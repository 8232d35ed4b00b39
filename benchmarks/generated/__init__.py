"""Good mail made from templates, to measure loss by: the parts of generated_mail.py."""
