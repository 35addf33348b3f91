"""Order and search: sort, topk, unique, searchsorted, histograms, quantiles."""
