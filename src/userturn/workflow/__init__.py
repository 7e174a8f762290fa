"""What the Snakefile asks: inputs, params, pending cells; one file a rules/*.smk."""
