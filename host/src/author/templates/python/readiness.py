"""How it goes: what Pods say, in one condition. Pure, and tested as a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Readiness:
    # Pods that serve.
    ready: int
    # True or False.
    status: str
    # One word in CamelCase.
    reason: str
    # For people.
    message: str


def readiness(wanted: int, pods: list[dict]) -> Readiness:
    """Judges the Pods of a Website of which so many should serve."""
    ready = sum(serves(pod) for pod in pods)
    served = f"{ready} of {wanted} Pods serve the page"
    troubles = [trouble(pod) for pod in pods if trouble(pod)]
    if wanted == 0:
        return Readiness(ready, "False", "SwitchedOff", "spec.replicas is 0")
    if ready >= wanted:
        return Readiness(ready, "True", "Serving", served)
    if troubles:
        return Readiness(ready, "False", "PodsInTrouble", f"{served}: {troubles[0]}")
    return Readiness(ready, "False", "Starting", served)


def serves(pod: dict) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def trouble(pod: dict) -> str | None:
    """What keeps a Pod from starting, in the kubelet's words."""
    for container in pod.get("status", {}).get("containerStatuses", []):
        reason = container.get("state", {}).get("waiting", {}).get("reason")
        if reason and reason != "ContainerCreating":
            return f"{pod['metadata']['name']} waits, {reason}"
    return None
