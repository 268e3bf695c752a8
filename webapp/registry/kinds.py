"""Jobs that this app launches."""

from webapp.jobs.kinds import Kind

CHECK_MODEL = Kind("check-model", "Check model", parts="MiB", is_light=True)
FETCH_MODEL = Kind("fetch-model", "Fetch model", parts="MiB", is_light=True)
CHECK_ENDPOINT = Kind("check-endpoint", "Check server", parts="questions", is_light=True)
COUNT_TOKENS = Kind("count-tokens", "Count tokens", parts="prompts", is_light=True)
