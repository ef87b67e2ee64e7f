"""Live telemetry of a training job; importing it loads nothing heavy."""
