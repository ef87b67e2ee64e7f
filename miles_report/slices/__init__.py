"""Slices of a published site and the catalogues that list them: written by a build, read by pages, scripts and notebooks."""
