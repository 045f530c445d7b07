"""Training of a model of contexts, from its corpus to its networks."""
