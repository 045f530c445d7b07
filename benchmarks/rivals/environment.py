"""An environment of its own for a rival that needs other versions."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

SCRIPTS = Path(__file__).parent
"""Where the scripts lie that run in such environments."""


def rival_python(folder: str | Path, packages: tuple[str, ...]) -> Path:
    """Give the interpreter of an environment with some packages, made where it is not there.

    Parameters
    ----------
    folder : str or Path
        Where the environment is or goes. One that was left half made is replaced.
    packages : tuple of str
        What pip installs.

    Returns
    -------
    python : Path
        Absolute path of its interpreter.

    Raises
    ------
    FileExistsError
        If the folder holds something else, which is left as it is.
    subprocess.CalledProcessError
        If pip cannot install a package.
    """
    place = Path(folder)
    if not (place / "ready").exists():
        if place.exists() and any(place.iterdir()) and not (place / "pyvenv.cfg").exists():
            raise FileExistsError(
                f"--rivals {folder} is a folder with other files; give a new or empty one"
            )
        venv.create(place, with_pip=True, clear=True)
        install = [str(_python(place)), "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(install, check=True)
        (place / "ready").touch()
    return _python(place).absolute()


def _python(place: Path) -> Path:
    return place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
