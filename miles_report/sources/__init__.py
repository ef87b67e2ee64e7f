"""Bytes to frames, one module a format; never writes, and reads only what is asked."""
