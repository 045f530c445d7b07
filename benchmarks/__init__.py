"""One runnable module a claim; results go to ``benchmarks/results`` as JSON lines."""
