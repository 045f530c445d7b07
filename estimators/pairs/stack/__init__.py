"""Parts of the stack of `DuplicateClassifier`."""
