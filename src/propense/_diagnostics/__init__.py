"""What a finished fit is worth: its statistics, the reasons to doubt it, and a diagnosis of the labelling."""
