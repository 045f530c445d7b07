"""Self-contained HTML."""
