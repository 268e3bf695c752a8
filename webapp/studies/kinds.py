"""Jobs that this app launches."""

from decoding.public import of_papers, workload
from webapp.jobs.kinds import Kind

TRAINING = Kind("training", "Training", parts="samples", page="training")
ORACLE = Kind(
    "oracle",
    "Oracle",
    parts="prompts",
    needs_draft=False,
    takes_lookahead=True,
    page="study",
)
PLAN = Kind(
    "plan",
    "Plan",
    parts="samples",
    needs_draft=False,
    takes_loads=True,
    uses_classifier=True,
    samples=workload.of_plan,
    page="study",
)  # how many, the engine says once it knows the strategies
PROJECTION = Kind(
    "projection",
    "Projection",
    parts="prompts",
    needs_draft=False,
    needs_card=True,
    uses_classifier=True,
    page="study",
)
PAPERS = Kind(
    "papers",
    "Papers",
    parts="samples",
    keeps_parts=True,
    uses_classifier=True,
    samples=of_papers,
    page="study",
)
KINDS = {kind.slug: kind for kind in (ORACLE, PLAN, PROJECTION, PAPERS)}
