"""Features of pairs of texts from their words and letters."""
