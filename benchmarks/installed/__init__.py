"""What environments of their own are asked: ranges of versions, and an installed copy."""
