"""The pages themselves, a module a subject."""
