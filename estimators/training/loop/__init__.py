"""The training loop: batches, steps, objectives, processes and checkpoints."""
