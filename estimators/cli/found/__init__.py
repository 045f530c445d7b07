"""What ``film duplicates`` knows, tabulates and shows."""
