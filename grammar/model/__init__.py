"""The grammar model that every front end builds (`model`, `repetition`), and the passes that make an engine of it
(`compile`)."""
