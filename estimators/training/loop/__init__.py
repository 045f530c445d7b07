"""The loop of training: batches, steps, what is minimised, processes, and checkpoints."""
