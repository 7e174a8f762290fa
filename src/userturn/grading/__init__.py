"""Is an answer right? One file a verifier."""
