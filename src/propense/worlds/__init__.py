"""What labels like these can mean: worlds whose truth is known, and what was true in those that look like a table."""
