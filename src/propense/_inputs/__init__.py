"""What a person passed to fit or predict, read and checked once."""
