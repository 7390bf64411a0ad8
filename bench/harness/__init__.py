"""How the benches measure: fresh processes, loops that time engines, checks of their masks, figures of the times."""
