"""Check every artifact, its provenance and the chain between them."""
