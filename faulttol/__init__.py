"""Health monitor and recovery of rollout engines; importing it loads nothing heavy."""
