"""The checks, one file for each subject."""
