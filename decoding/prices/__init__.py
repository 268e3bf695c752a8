"""What passes cost: one price list, fitted to traces, measured by probes, or read from a machine card."""
