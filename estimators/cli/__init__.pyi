from ._app import main as main
