"""Validation of torch devices."""

from __future__ import annotations

from typing import Any

__all__ = ["checked_device"]


def checked_device(device: str) -> Any:
    """Return the named torch device.

    Parameters
    ----------
    device : str
        For example "cuda".

    Returns
    -------
    place : torch.device
        A device that works on this machine.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If torch does not know the device or cannot use it here.

    Examples
    --------
    >>> from film.networks import checked_device
    >>> checked_device("cpu")
    device(type='cpu')
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs torch: give device=None, or pip install 'film-metric[neural]'"
        ) from error
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} must be a device of torch such as 'cuda' or 'cpu', or device=None"
        ) from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} is asked for, but torch sees no GPU: give 'cpu' or device=None, or "
            "install torch for CUDA"
        )
    try:
        float(torch.zeros((), device=place))
    except MemoryError:
        raise
    except Exception as error:  # each torch backend raises its own type
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"device={device!r} does not compute here ({said}); give 'cpu' or device=None"
        ) from error
    return place
