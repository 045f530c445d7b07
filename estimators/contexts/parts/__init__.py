"""Parts of a model of contexts: their training, and those of earlier versions."""
