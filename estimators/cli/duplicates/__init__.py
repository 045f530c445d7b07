"""Inputs, tables and page of ``film duplicates``."""
