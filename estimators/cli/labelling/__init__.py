"""Labelling: the file of answers, and candidate pairs."""
