"""``python -m estimators.cli`` is the command ``film``."""

import sys

from estimators.cli.process import exit_status, heed_signals, occupy_closed_streams


def run() -> None:
    """Run the command; a signal that ends it while it is still loading gives its status too."""
    try:
        occupy_closed_streams()
        heed_signals()
        from estimators.cli import main

        main(prog_name="film")
    except KeyboardInterrupt as error:
        print("\nfilm: interrupted; nothing was written", file=sys.stderr)
        sys.exit(exit_status(error))


if __name__ == "__main__":
    run()
