"""User turns of a known kind that judges are measured on: human, planted, injected."""
