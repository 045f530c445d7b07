"""What happens on the day that something goes wrong: damaged files, odd texts, killed jobs."""
