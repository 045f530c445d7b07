"""``python -m estimators.cli`` is the command ``film``."""

from estimators.cli import main

if __name__ == "__main__":
    main(prog_name="film")
