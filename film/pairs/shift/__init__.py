"""Texts of another kind, and another share of duplicates, than those a model was fitted to."""
