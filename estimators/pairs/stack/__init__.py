"""Parts of the stack under `DuplicateClassifier`."""
