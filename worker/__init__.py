"""What carries comparisons out: in a terminal without a server, or for the service."""
