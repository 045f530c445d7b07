"""The one place that reaches past scikit-learn's public names."""

from __future__ import annotations

from typing import Any


def visual_block(kind: str, estimators: Any, **options: Any) -> Any:
    """Describe an estimator's parts to scikit-learn's HTML diagram, which has no public name."""
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # scikit-learn 1.6
        from sklearn.utils._estimator_html_repr import (  # pyright: ignore[reportMissingImports]
            _VisualBlock,
        )
    return _VisualBlock(kind, estimators, **options)
