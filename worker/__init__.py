"""Workers: they carry comparisons out, in a terminal without a server or for the service."""
