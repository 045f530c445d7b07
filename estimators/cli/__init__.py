"""The command ``film``: train, score, find duplicates, label, explain, evaluate, submit."""

from estimators.cli._app import main

__all__ = ["main"]
