"""Projection of a pair onto other machines: recorded texts played at the prices of a machine card."""
