"""Chat template to probe prompt: rendering, tokens, stops, checks, perturbations."""
