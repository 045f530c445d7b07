"""Rivals in environments of their own."""
