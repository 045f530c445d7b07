"""What a fitted estimator learned, to look at: explanations of pairs, displays, and pages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
