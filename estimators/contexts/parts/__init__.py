"""Parts of a model of contexts: their folders and their training."""
