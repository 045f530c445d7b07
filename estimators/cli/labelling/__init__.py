"""Labels given by a person: the file of answers, and what could be asked."""
