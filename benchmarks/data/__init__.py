"""Readers of the public data sets that the benchmarks use; files are trusted to be as published."""
