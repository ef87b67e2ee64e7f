"""Frames to the tables of TABLES.md, one module a question: polars in, polars out, no files."""
