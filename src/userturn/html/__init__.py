"""Pages that open from a file, and their parts."""
