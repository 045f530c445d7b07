"""Displays drawn with matplotlib."""
