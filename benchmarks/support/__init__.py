"""What benchmarks share: data, rows to train on, results, figures."""
