"""One file a figure of results/figures; the theme; the rules that draw them."""
