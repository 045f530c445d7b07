"""Judging a pair: features, ranks, calibration, class priors, and which pair to label next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
