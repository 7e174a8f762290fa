"""One user turn in, one verdict out: prompt, client, budget, journal; a file for each kind."""
