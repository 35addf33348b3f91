"""Movement: views, joins, splits, rolls, padding."""
