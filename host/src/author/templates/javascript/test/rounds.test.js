// Whole rounds against a made-up world: what a user would see.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { page } from "../children.js";
import { describe, reconcile } from "../controller.js";
import { readiness } from "../readiness.js";
import { runRound } from "../windlass-sdk/testing.js";

/** As an API server hands it over: with the defaults of the CRD. */
function website(spec = {}) {
  return {
    apiVersion: "web.example.com/v1",
    kind: "Website",
    metadata: { name: "hello", namespace: "default", generation: 1 },
    spec: { title: "Hello", text: "", replicas: 2, image: "busybox", ...spec },
  };
}

function pod(name, ready = "True", reason = undefined) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    status: {
      conditions: [{ type: "Ready", status: ready }],
      containerStatuses: [{ state: reason ? { waiting: { reason } } : {} }],
    },
  };
}

const plan = (object, ...objects) => runRound(reconcile, object, { objects, now: 60_000 });

test("a new website gets its page, its Pods and an address", () => {
  const made = plan(website());
  const kinds = made.children.map(({ manifest }) => JSON.parse(manifest).kind);
  assert.deepEqual(kinds, ["ConfigMap", "Deployment", "Service"]);
  const status = JSON.parse(made.status);
  assert.equal(status.conditions[0].reason, "Starting");
  assert.equal(status.url, "http://hello.default.svc");
  assert.deepEqual(made.events, []);
});

test("it is ready once its Pods are, and says so once", () => {
  const object = website();
  const pods = [pod("hello-1"), pod("hello-2")];
  const first = plan(object, ...pods);
  assert.equal(first.events[0].reason, "Published");
  object.status = JSON.parse(first.status);
  const second = plan(object, ...pods);
  assert.deepEqual(second.events, []);
  assert.equal(second.status, first.status, "nothing changes when nothing happens");
});

test("a changed page rolls the Pods", () => {
  assert.notDeepEqual(plan(website()).children[1], plan(website({ text: "!" })).children[1]);
});

test("text cannot become markup", () => {
  assert.ok(!page({ title: "<b>", text: "<b>" }).includes("<b>"));
});

test("the condition says how it goes", () => {
  const [up, starting] = [pod("a"), pod("b", "False", "ContainerCreating")];
  const stuck = pod("c", "False", "ImagePullBackOff");
  for (const [name, wanted, pods, reason, message] of [
    ["nothing yet", 1, [], "Starting", "0 of 1 Pods serve the page"],
    ["on the way", 1, [starting], "Starting", "0 of 1 Pods serve the page"],
    ["there", 1, [up], "Serving", "1 of 1 Pods serve the page"],
    ["one is stuck", 2, [up, stuck], "PodsInTrouble", "1 of 2 Pods serve the page: c waits, ImagePullBackOff"],
    ["switched off", 0, [], "SwitchedOff", "spec.replicas is 0"],
  ]) {
    const said = readiness(wanted, pods);
    assert.deepEqual([said.reason, said.message], [reason, message], name);
  }
});

test("the plugin is granted exactly what it asks for", () => {
  const lines = readFileSync(new URL("../plugin.yaml", import.meta.url), "utf8").split("\n");
  const granted = lines.filter((line) => line.trim().startsWith("- ")).map((line) => line.trim().split(/\s+/)[1]);
  const { owns, reads } = describe("");
  const asks = [...owns.map((kind) => `own:${kind}`), ...reads.map(({ kind }) => `read:${kind}`)];
  assert.deepEqual(granted.sort(), asks.sort());
});
