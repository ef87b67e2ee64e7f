"""What long-running parts need from the system: clocks, one kind of thread, rate-limited warnings."""
