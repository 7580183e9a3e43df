// An operator for the kind `Website`: a page from a ConfigMap, served by a Deployment behind a Service.
//
// A round is a pure function, facts in and plan out: it makes no call, reads no clock and keeps nothing. The host
// gathers what it asks, and carries out what it plans.
import { MANAGED, configMap, deployment, selector, service } from "./children.js";
import { readiness } from "./readiness.js";
import { Conditions, Plan } from "./windlass-sdk/index.js";

/** What the plugin is and asks for. `plugin.yaml` grants exactly this; a test compares the two. */
export function describe(crd) {
  return {
    name: "website-operator",
    version: "0.1.0",
    purpose: "Pages on the web, from a custom resource",
    serves: [{ group: "web.example.com", version: "v1", kind: "Website" }],
    crds: [crd],
    owns: ["v1/ConfigMap", "apps/v1/Deployment", "v1/Service"],
    reads: [{ kind: "v1/Pod", selector: MANAGED }],
  };
}

/** Called whenever the object, one of its children or one of the Pods asked about has changed. */
export function reconcile(website, cx) {
  const { spec } = website;
  // While the answer is not there the call ends here; the next one runs from the top with it.
  const pods = cx.pods(selector(cx.name)).answer();
  const now = readiness(spec.replicas, pods);

  const conditions = new Conditions(cx);
  const wasReady = conditions.isTrue("Ready");
  conditions.set("Ready", now.status, now.reason, now.message);
  const url = `http://${cx.name}.${cx.namespace}.svc`;

  const plan = new Plan();
  plan.child(configMap(cx.name, spec));
  plan.child(deployment(cx.name, spec));
  plan.child(service(cx.name));
  plan.status({ readyPods: now.ready, url, conditions: conditions.list() });
  if (now.status === "True" && !wasReady) plan.event(cx.this, "Published", `the page is served at ${url}`);
  return plan;
}

/** Called on deletion for kinds whose description says `finalizes`: this one does not. */
export function finalize() {
  return Plan.finalized();
}
