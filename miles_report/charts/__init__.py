"""Tables to charts: pure functions from frames to Altair charts, and their rendering to SVG."""
