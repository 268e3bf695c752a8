"""Prices of passes: one cost model, fitted to traces, measured by probes, or read from a machine card."""
