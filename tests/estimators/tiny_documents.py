"""A few made documents, each of its own few subjects, for tests of models of contexts."""

import numpy as np

SUBJECTS = "cat dog bird horse fish king queen sailor doctor child".split()
DEEDS = "sees likes finds helps follows meets".split()
THINGS = "tree river house ship road garden hill forest".split()


def tiny_documents(n_documents: int = 6, n_sentences: int = 20, seed: int = 0) -> list[str]:
    """Texts of short sentences such as "The cat sees the tree 5."."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_documents):
        subjects, things = rng.choice(SUBJECTS, 3), rng.choice(THINGS, 3)
        found.append(
            " ".join(
                f"The {rng.choice(subjects)} {rng.choice(DEEDS)} the {rng.choice(things)} "
                f"{rng.integers(100)}."
                for _ in range(n_sentences)
            )
        )
    return found
