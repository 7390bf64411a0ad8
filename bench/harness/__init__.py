"""The common code of the benches: fresh processes, loops that time engines, checks of masks, figures of times."""
