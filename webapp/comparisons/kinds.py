"""Jobs that this app launches."""

from webapp.jobs.kinds import Kind

COMPARISON = Kind("comparison", "Comparison", parts="samples", keeps_parts=True, page="comparison")
