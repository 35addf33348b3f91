"""Running sums, products, extremes; differences."""
