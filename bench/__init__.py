"""Benchmarks: each prints what was measured beside its ceiling and its peers, in one run."""
