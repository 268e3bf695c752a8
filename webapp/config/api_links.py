"""Where an answer leads: OpenAPI's links, for programs that find their way by the schema alone.

From a list to the first thing in it, from what was made to the thing itself, and further where the next step needs
more than that thing's id.
"""

from __future__ import annotations

from typing import Any

ID = "$response.body#/id"
CHUNK = {"id": ID, "sha256": "$response.body#/missing/0"}
JOB = {"id": "$response.body#/job/id"}
FURTHER: dict[str, dict[str, dict[str, str]]] = {  # operation → operation → its parameters
    "uploads_create": {"uploads_chunks_update": CHUNK, "uploads_chunks_create": CHUNK},
    "uploads_retrieve": {"uploads_chunks_update": CHUNK},
    "uploads_chunks_update": {"uploads_complete_create": {"id": "$request.path.id"}},
    "comparisons_create": {"jobs_retrieve": JOB, "jobs_cancel_create": JOB},
    "comparisons_clone_create": {"jobs_cancel_create": JOB},
    "comparisons_retrieve": {
        "jobs_events_retrieve": JOB,
        "runs_retrieve": {"id": "$response.body#/runs/0/id"},
        "samples_list": {"comparison": ID},
    },
    "comparisons_shares_create": {"shares_retrieve": {"id": ID}, "shares_destroy": {"id": ID}},
    "studies_create": {"jobs_retrieve": JOB},
    "classifiers_train_create": {"jobs_retrieve": {"id": ID}},
    "runs_retrieve": {"samples_list": {"run": ID}},
    "samples_list": {"samples_trace_retrieve": {"id": "$response.body#/results/0/id"}},
}


def add_links(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    known = {operation["operationId"] for operation in operations}
    for operation in operations:
        name = operation["operationId"]
        if links := _to_the_thing(name, known) | FURTHER.get(name, {}):
            # Where something may be made, 200 only says what would be: the highest is the one that leads on.
            status = max(status for status in operation["responses"] if status.startswith("2"))
            operation["responses"][status]["links"] = {
                target: {"operationId": target, "parameters": dict(parameters)} for target, parameters in links.items()
            }
    return result


def _to_the_thing(name: str, known: set[str]) -> dict[str, dict[str, str]]:
    noun, _, verb = name.rpartition("_")
    thing = f"{noun}_retrieve"
    where = {"list": "$response.body#/results/0/id", "create": ID}.get(verb)
    return {thing: {"id": where}} if where and thing in known else {}
