"""Features of a pair of texts that are read off their words and letters."""
