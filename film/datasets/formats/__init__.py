"""Parts of file formats: lines, tables, and chunks in brackets."""
