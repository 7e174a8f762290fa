"""What may leave a study, packed into one archive with its RO-Crate."""
