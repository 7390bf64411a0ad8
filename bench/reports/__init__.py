"""Reports of recorded results: tables, plots, a verdict on each target, and the figures of README.md and docs/."""
