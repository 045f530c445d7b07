"""Documents as rows of sentences: reading, splitting, and a corpus on disk."""
