"""What every front end makes: symbols, productions and terminals, trimmed and handed to the engine."""
