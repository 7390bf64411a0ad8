"""Coverage-guided fuzzing of everything that reads text or files from strangers."""
