"""From a hub or local file to items: one conversation each, ending in a user message."""
