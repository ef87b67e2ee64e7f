"""The site: its files and pages, HTML, assets, and the state of the last build."""
