"""``python -m estimators.cli`` is the command ``film``."""

import sys


def run() -> None:
    """Run the command; an interruption ends it with status 130 while it is still loading too."""
    try:
        from estimators.cli import main

        main(prog_name="film")
    except KeyboardInterrupt:
        print("\nfilm: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
