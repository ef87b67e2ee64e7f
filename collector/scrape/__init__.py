"""Metrics of inference engines, read over HTTP."""
