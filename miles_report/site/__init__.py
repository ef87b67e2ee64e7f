"""The site: slices, catalogues, HTML, assets, and the state of the last build."""
