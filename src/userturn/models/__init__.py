"""A model's files, and the engines that run them."""
