"""A genuine small reinforcement-learning run that records itself; see README.md beside this file."""
