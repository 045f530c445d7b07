"""What files are made of: lines, tables of cells, chunks in brackets."""
