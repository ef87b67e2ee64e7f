"""The wire of the telemetry streams: records to JSON lines and back, partitions, and the only appender."""
