"""What is made of recorded results: tables, plots, a verdict on each target, and the figures that the pages show."""
