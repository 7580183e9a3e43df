"""Running a controller natively against a made-up world, as the host would."""

import json

from . import call, wire

# Calls that a round may take.
CALLS = 16


def run_round(function, object: dict, objects: list[dict] = (), children: list[dict] = (), **request) -> wire.Plan:
    """Calls until there is a plan. `objects` is the world: what is asked for is looked up there by kind and name,
    and selectors are taken as matching. `request` are further fields of `wire.Request`, such as `now`."""
    asking = wire.Request(json.dumps(object), [json.dumps(child) for child in children], **request)
    for _ in range(CALLS):
        step = call(function, asking)
        if isinstance(step, wire.Step_Plan):
            return step.value
        asking.facts = [wire.Fact(need.id, _look(need.question, objects)) for need in step.value]
    raise AssertionError(f"no plan after {CALLS} calls")


def _look(question: wire.Question, objects) -> wire.Answer:
    match question:
        case wire.Question_Objects(query):
            found = [json.dumps(it) for it in objects if _is_of(it, query)]
            return wire.Answer_Objects(found)
        case wire.Question_Object(reference):
            found = [it for it in objects if _is_of(it, reference) and it["metadata"]["name"] == reference.name]
            return wire.Answer_Object(json.dumps(found[0]) if found else None)
        case _:
            return wire.Answer_Unreachable(wire.Unreachable("nobody answers in a test", False, 0))


def _is_of(object: dict, wanted) -> bool:
    return (object["apiVersion"], object["kind"]) == (wanted.api_version, wanted.kind)
