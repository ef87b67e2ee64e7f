"""Readings of the GPUs of one node."""
