"""Where the public sets lie."""

from __future__ import annotations

import os
from pathlib import Path


def film_data() -> Path | None:
    """Give the folder that the environment variable FILM_DATA names; empty is not set."""
    home = os.environ.get("FILM_DATA")
    return Path(home) if home else None


def data_folder(given: str | None, *below: str) -> Path:
    """Give the folder of ``--data``, else one below that of FILM_DATA.

    Raises
    ------
    FileNotFoundError
        When neither is given.
    """
    if given:
        return Path(given)
    home = film_data()
    if home is None:
        raise FileNotFoundError(
            "no data: neither --data nor FILM_DATA is given; name the folder of the public sets "
            "by one of them"
        )
    return home.joinpath(*below)
