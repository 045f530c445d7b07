"""Parts of a model of contexts: their folders, their training, and what is checked before."""
