"""Drawings on matplotlib."""
