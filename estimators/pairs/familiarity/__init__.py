"""How like the texts of its fit those are that a classifier judges."""
