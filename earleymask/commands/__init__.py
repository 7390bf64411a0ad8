"""The commands of the command line, one module each: `run(given)` does the work and returns the exit code."""
