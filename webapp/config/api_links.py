"""Links of the OpenAPI schema, for programs that find their way by the schema alone.

A link leads from a list to its first entry, from what was made to the thing itself, and on to a next step whose body
takes the id of that thing.
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
    **{f"{noun}_destroy": {f"{noun}_restore_create": {"id": "$request.path.id"}}
       for noun in ("models", "pairs", "datasets", "classifiers", "studies", "comparisons", "endpoints")},
}  # fmt: skip
MADE_OF: dict[str, dict[str, str]] = {  # operation → operation → the field of its body that takes the id
    "uploads_complete_create": {"models_create": "upload", "datasets_create": "upload"},
    "models_create": {"pairs_create": "draft"},
    "pairs_create": {"comparisons_create": "pair", "studies_create": "pair", "classifiers_train_create": "pair"},
    "datasets_create": {"comparisons_create": "dataset", "studies_create": "dataset"},
}


def add_links(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    known = {operation["operationId"] for operation in operations}
    for operation in operations:
        if links := _links(operation["operationId"], known):
            for status in _leading_on(operation):
                operation["responses"][status]["links"] = links
    return result


def _links(name: str, known: set[str]) -> dict[str, dict[str, Any]]:
    further = _to_the_thing(name, known) | FURTHER.get(name, {})
    made = MADE_OF.get(name, {})
    return {target: {"operationId": target, "parameters": dict(where)} for target, where in further.items()} | {
        target: {"operationId": target, "requestBody": {field: ID}} for target, field in made.items()
    }


def _leading_on(operation: dict[str, Any]) -> list[str]:
    """List the statuses that describe an existing thing. Where a dry run is possible, 200 only says what would be."""
    may_be_tried = any(parameter["name"] == "dry_run" for parameter in operation.get("parameters", ()))
    return [status for status in operation["responses"] if status[0] == "2" and not (may_be_tried and status == "200")]


def _to_the_thing(name: str, known: set[str]) -> dict[str, dict[str, str]]:
    noun, _, verb = name.rpartition("_")
    thing = f"{noun}_retrieve"
    where = {"list": "$response.body#/results/0/id", "create": ID}.get(verb)
    return {thing: {"id": where}} if where and thing in known else {}
