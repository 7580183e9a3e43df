"""An operator for the kind `Website`: a page from a ConfigMap, served by a Deployment behind a Service.

A round is a pure function, facts in and plan out: it makes no call, reads no clock and keeps nothing. The host gathers
what it asks, and carries out what it plans.
"""

import json
from pathlib import Path

from children import MANAGED, config_map, deployment, selector, service
from readiness import readiness
from windlass_sdk import Conditions, Context, Plan

# Read while the component is built: inside of it there are no files.
CRD = (Path(__file__).parent / "crd.yaml").read_text()


def describe() -> str:
    """What the plugin is and asks for. `plugin.yaml` grants exactly this; a test compares the two."""
    return json.dumps({
        "name": "website-operator",
        "version": "0.1.0",
        "purpose": "Pages on the web, from a custom resource",
        "serves": [{"group": "web.example.com", "version": "v1", "kind": "Website"}],
        "crds": [CRD],
        "owns": ["v1/ConfigMap", "apps/v1/Deployment", "v1/Service"],
        "reads": [{"kind": "v1/Pod", "selector": MANAGED}],
    })


def reconcile(website: dict, cx: Context) -> Plan:
    """Called whenever the object, one of its children or one of the Pods asked about has changed."""
    spec = website["spec"]
    # While the answer is not there the call ends here; the next one runs from the top with it.
    pods = cx.pods(selector(cx.name)).answer()
    now = readiness(spec["replicas"], pods)

    conditions = Conditions(cx)
    was_ready = conditions.is_true("Ready")
    conditions.set("Ready", now.status, now.reason, now.message)
    url = f"http://{cx.name}.{cx.namespace}.svc"

    plan = Plan()
    plan.child(config_map(cx.name, spec))
    plan.child(deployment(cx.name, spec))
    plan.child(service(cx.name))
    plan.status({"readyPods": now.ready, "url": url, "conditions": conditions.list()})
    if now.status == "True" and not was_ready:
        plan.event(cx.this, "Published", f"the page is served at {url}")
    return plan


def finalize(website: dict, cx: Context) -> Plan:
    """Called on deletion for kinds whose description says `finalizes`: this one does not."""
    return Plan.finalized()
