"""The commands, one module each, which load when they are called."""
