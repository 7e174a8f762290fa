"""What made each file, and out of what."""
