"""Jobs that this app launches."""

from webapp.jobs.kinds import Kind

UNPACK = Kind("unpack", "Unpack", parts="chunks", is_light=True)
